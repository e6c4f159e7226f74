// What a client sees of the surface, the same for each TypeScript client: one line of JSON, an object for each person's token.
//
//   node CLIENT.mjs URL [MODE]    with the tokens in CONFORMANCE_TOKENS, parted by spaces, and what is called in CONFORMANCE_CALLS

export async function see(connect) {
  const [url, mode] = process.argv.slice(2);
  const seen = [];
  for (const token of process.env.CONFORMANCE_TOKENS.split(" ")) {
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    const { client, protocol } = await connect(new URL(url), requestInit, mode);
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
