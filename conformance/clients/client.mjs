// The TypeScript client as it is in @modelcontextprotocol/client 2.x. MODE is legacy, auto, or the revision to hold it to.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { see } from "./seeing.mjs";

await see(async (url, requestInit, mode) => {
  const versionNegotiation = { mode: mode === "legacy" || mode === "auto" ? mode : { pin: mode } };
  const client = new Client({ name: "meridian-conformance", version: "1" }, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return { client, protocol: () => client.getNegotiatedProtocolVersion() };
});
