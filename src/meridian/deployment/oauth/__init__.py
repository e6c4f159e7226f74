"""The authorization server: how a person lends a client access, and how that client comes by its tokens and renews them.

A client that knows the surface's address alone finds everything else from there: `metadata` says where to ask, `clients` who
asks, `authorizing` what for. The person answers on the page of `consenting`; `tokens` are what their client gets, and
`endpoints` are the addresses at which it does. OAuth 2.1 for public clients: no client has a secret, and every code is bound
to the one who asked for it by a challenge (PKCE).
"""
