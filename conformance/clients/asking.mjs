// What the TypeScript clients, 1.x and 2.x alike, need to be told to ask for tokens of their own: where to keep them, how to open a
// browser, and what came back. `asking()` gives the provider that they take, and the query that the browser came back with. The
// document that describes them is at CONFORMANCE_DOCUMENT; where that is empty, they register.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const NO_TOKENS = { tokens: undefined };

export async function asking() {
  const listener = createServer();
  const cameBack = new Promise((resolve) => {
    listener.on("request", (request, response) => {
      response.end("OK", () => resolve(new URL(request.url, redirectUrl).searchParams));
    });
  });
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  listener.unref();
  const redirectUrl = `http://127.0.0.1:${listener.address().port}/callback`;

  const path = process.env.CONFORMANCE_KEPT;
  const read = () => (existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {});
  const write = (kept) => writeFileSync(path, JSON.stringify({ ...read(), ...kept }));
  const authProvider = {
    redirectUrl,
    clientMetadataUrl: process.env.CONFORMANCE_DOCUMENT || undefined,
    clientMetadata: { client_name: "TypeScript client", redirect_uris: [redirectUrl], token_endpoint_auth_method: "none" },
    clientInformation: () => read().client,
    saveClientInformation: (client) => write({ client }),
    tokens: () => read().tokens,
    saveTokens: (tokens) => write({ tokens }),
    codeVerifier: () => read().verifier,
    saveCodeVerifier: (verifier) => write({ verifier }),
    invalidateCredentials: (which) => write(which === "all" ? { client: undefined, ...NO_TOKENS } : which === "tokens" ? NO_TOKENS : {}),
    redirectToAuthorization: (address) => void spawn(process.env.BROWSER, [address.href], { stdio: "ignore" }),
  };
  return { authProvider, cameBack };
}
