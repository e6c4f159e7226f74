// What a client sees of the surface, the same for each TypeScript client: one line of JSON, an object for each person's token.
//
//   node CLIENT.mjs URL [MODE]    with the tokens in CONFORMANCE_TOKENS, parted by spaces, and what is called in CONFORMANCE_CALLS
//
// Where there are no tokens, the client asks for its own, opens BROWSER, and keeps what it is given in CONFORMANCE_KEPT.
//
// `made(mode)` gives a new client and the protocol it speaks once connected; `transport(url, options)` a new way to the surface;
// `Unauthorized` is what the client throws once it has sent its person to the browser.

import { asking } from "./asking.mjs";

export async function see({ made, transport, Unauthorized }) {
  const [url, mode] = process.argv.slice(2);

  async function connected(options) {
    const { client, protocol } = made(mode);
    const way = transport(new URL(url), options);
    await client.connect(way);
    return { client, protocol: () => protocol(way) };
  }

  async function connectedAsking() {
    const { authProvider, cameBack } = await asking();
    try {
      return await connected({ authProvider });
    } catch (thrown) {
      if (!(thrown instanceof Unauthorized)) throw thrown;
    }
    const said = await cameBack;
    if (!said.has("code")) throw new Error(`the person's answer was ${said}`);
    await transport(new URL(url), { authProvider }).finishAuth(said.get("code"), said.get("iss"));
    return connected({ authProvider });
  }

  const seen = [];
  for (const token of process.env.CONFORMANCE_TOKENS?.split(" ") ?? [undefined]) {
    const { client, protocol } = token
      ? await connected({ requestInit: { headers: { Authorization: `Bearer ${token}` } } })
      : await connectedAsking();
    const { tools } = await client.listTools();
    const calls = [];
    for (const [name, given] of JSON.parse(process.env.CONFORMANCE_CALLS)) {
      const { structuredContent, isError } = await client.callTool({ name, arguments: given });
      calls.push([structuredContent, isError]);
    }
    seen.push({ protocol: protocol(), listed: tools.map((tool) => tool.name), calls });
    await client.close();
  }
  process.stdout.write(JSON.stringify(seen) + "\n");
}
