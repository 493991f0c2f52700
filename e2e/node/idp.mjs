// An authorization server: node idp.mjs AUDIENCE. It prints its issuer, and gives client "agent" access tokens with the scope weir:agent, and
// client "approver" such with weir:agent and weir:approve, by the grant client_credentials (RFC 6749, 4.4; RFC 8707; RFC 9068).

import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const audience = process.argv[2];
const listener = createServer();
listener.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${listener.address().port}`;
  const client = (id, scope) => ({
    client_id: id, client_secret: `secret-of-${id}`, grant_types: ['client_credentials'], redirect_uris: [], response_types: [], scope,
  });
  const provider = new Provider(issuer, {
    clients: [client('agent', 'weir:agent'), client('approver', 'weir:agent weir:approve')],
    scopes: ['weir:agent', 'weir:approve'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'weir:agent weir:approve', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: 3600, jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  listener.on('request', provider.callback());
  console.log(issuer);
});
