// The TypeScript client as it is in @modelcontextprotocol/sdk 1.x.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { see } from "./seeing.mjs";

await see(async (url, requestInit) => {
  const client = new Client({ name: "meridian-conformance", version: "1" });
  const transport = new StreamableHTTPClientTransport(url, { requestInit });
  await client.connect(transport);
  return { client, protocol: () => transport.protocolVersion };
});
