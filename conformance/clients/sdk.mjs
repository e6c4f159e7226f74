// The TypeScript client as it is in @modelcontextprotocol/sdk 1.x.

import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { see } from "./seeing.mjs";

await see({
  made: () => ({
    client: new Client({ name: "meridian-conformance", version: "1" }),
    protocol: (way) => way.protocolVersion,
  }),
  transport: (url, options) => new StreamableHTTPClientTransport(url, options),
  Unauthorized: UnauthorizedError,
});
