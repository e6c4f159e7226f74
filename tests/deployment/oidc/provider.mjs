// An OpenID Connect provider on a free loopback port, for tests: oidc-provider as it is, with its own pages for signing in.
// Its first line on standard output is its issuer. A test tells it, at /test, who there is and what shall go wrong.

import { createServer } from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';

import { SignJWT, UnsecuredJWT, decodeJwt, exportJWK } from 'jose';
import { Provider } from 'oidc-provider';

const CLIENT = { id: 'meridian', secret: 'a secret: that both know / 100%' };

const told = {
  redirect_uris: ['http://127.0.0.1/unused'],
  people: {},
  method: 'client_secret_basic',
  forged: null, // what is wrong with its tokens
  document: {}, // what is wrong in its discovery document
  broken: {}, // what is wrong with an answer, by path
};
const asked = []; // what of interest reached it
let signing = newKey();
let answer;

function newKey() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { privateKey, publicKey, kid: randomUUID() };
}

async function provide(issuer) {
  const jwk = { ...(await exportJWK(signing.privateKey)), kid: signing.kid, alg: 'RS256', use: 'sig' };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        ...(told.method === 'none' ? {} : { client_secret: CLIENT.secret }),
        token_endpoint_auth_method: told.method,
        redirect_uris: told.redirect_uris,
      },
    ],
    clientAuthMethods: [told.method],
    jwks: { keys: [jwk] },
    cookies: { keys: ['kept for tests alone'] },
    claims: { openid: ['sub'], profile: ['name', 'preferred_username', 'email', 'groups'] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...told.people[id] }) }),
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  });
  provider.use(async (context, next) => {
    asked.push(`${context.method} ${context.path}`);
    if (context.path === '/auth') asked.push(context.querystring);
    await next();
    if (told.forged && context.path === '/token' && context.body?.id_token) {
      context.body.id_token = 'token' in told.forged ? told.forged.token : await forge(context.body.id_token);
    }
    if (context.path === '/.well-known/openid-configuration') Object.assign(context.body, told.document);
  });
  answer = provider.callback();
}

// The token that was made, with other claims, signed by another key or in another way: `key` is `published`, `unpublished`
// (under the published key's name), `unknown` (under a name of its own), `secret` (the client's), `public` (the published key
// taken for a secret) or `none`.
async function forge(token) {
  const { claims = {}, key = 'published', without = [] } = told.forged;
  const made = { ...decodeJwt(token), ...claims };
  for (const each of without) delete made[each];
  if (key === 'none') return new UnsecuredJWT(made).encode();
  const header = { alg: 'RS256', kid: key === 'unknown' ? randomUUID() : signing.kid };
  if (key === 'secret' || key === 'public') header.alg = 'HS256';
  const keys = {
    published: () => signing.privateKey,
    unpublished: () => newKey().privateKey,
    unknown: () => newKey().privateKey,
    secret: () => new TextEncoder().encode(CLIENT.secret),
    public: () => new TextEncoder().encode(signing.publicKey.export({ type: 'spki', format: 'pem' })),
  };
  return new SignJWT(made).setProtectedHeader(header).sign(keys[key]());
}

const breaking = {
  large: (response) => response.writeHead(200).end(JSON.stringify({ filled: 'x'.repeat(2 << 20) })),
  'no JSON': (response) => response.writeHead(200).end('<!doctype html>'),
  elsewhere: (response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
  500: (response) => response.writeHead(500).end('{}'),
  drips: (response) => {
    const dripping = setInterval(() => response.write(' '), 100);
    response.on('close', () => clearInterval(dripping));
  },
};

async function test(request, response, issuer) {
  if (request.method === 'POST') {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { rotate, ...rest } = JSON.parse(body);
    Object.assign(told, rest);
    if (rotate) signing = newKey();
    asked.length = 0;
    await provide(issuer);
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ asked }));
}

const server = createServer((request, response) => {
  if (request.url === '/test') test(request, response, issuer).catch((reason) => response.writeHead(500).end(`${reason}`));
  else if (request.url in told.broken) breaking[told.broken[request.url]](response);
  else answer(request, response);
});
server.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;
await provide(issuer);
console.log(issuer);
