// The TypeScript client as it is in @modelcontextprotocol/client 2.x. MODE is legacy, auto, or the revision to hold it to.

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { see } from "./seeing.mjs";

await see({
  made: (mode) => {
    const versionNegotiation = { mode: mode === "legacy" || mode === "auto" ? mode : { pin: mode } };
    const client = new Client({ name: "meridian-conformance", version: "1" }, { versionNegotiation });
    return { client, protocol: () => client.getNegotiatedProtocolVersion() };
  },
  transport: (url, options) => new StreamableHTTPClientTransport(url, options),
  Unauthorized: UnauthorizedError,
});
