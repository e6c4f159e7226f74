"""Where a deployment is to a client, and the documents by which one that knows the surface's address finds the rest.

An origin enters; addresses, the two metadata documents (RFC 9728 and RFC 8414) and the challenge of a 401 leave. The surface
has one canonical address, `/mcp` at the origin; it is what tokens are bound to, and a trailing slash makes no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

__all__ = ["SCOPE", "Place", "canonical"]

SCOPE: Final = "meridian"
"""The one scope there is: a client asks for access, and what it covers is for the person to say."""


@dataclass(frozen=True)
class Place:
    """The deployment at `origin`, as whoever asks reaches it; the origin is also the issuer of its tokens."""

    origin: str

    @property
    def resource(self) -> str:
        """The surface's canonical address."""
        return canonical(f"{self.origin}/mcp")

    @property
    def resource_metadata(self) -> str:
        """Where the surface's own metadata is."""
        return f"{self.origin}/.well-known/oauth-protected-resource/mcp"

    def is_here(self, resource: str) -> bool:
        """Whether a client that names `resource` means this surface.

        >>> [Place("https://desk.example").is_here(f"https://{rest}") for rest in ("Desk.example/mcp/", "desk.example/mcpx")]
        [True, False]
        """
        return canonical(resource) == self.resource

    def of_the_resource(self) -> dict[str, Any]:
        """What the surface says of itself: who gives the tokens it takes."""
        return {
            "resource": self.resource,
            "resource_name": "Meridian",
            "authorization_servers": [self.origin],
            "scopes_supported": [SCOPE],
            "bearer_methods_supported": ["header"],
        }

    def of_the_server(self, *, documents: bool) -> dict[str, Any]:
        """What the authorization server says of itself: its addresses, and the one way it does each thing. `documents` says
        whether those are read that describe clients."""
        return {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/oauth/authorize",
            "token_endpoint": f"{self.origin}/oauth/token",
            "registration_endpoint": f"{self.origin}/oauth/register",
            "revocation_endpoint": f"{self.origin}/oauth/revoke",
            "scopes_supported": [SCOPE],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": documents,
            "authorization_response_iss_parameter_supported": True,
            "protected_resources": [self.resource],
        }

    def challenge(self, error: str | None, said: str) -> str:
        """The `WWW-Authenticate` of an answer that asks for a token, or for another than the one that came."""
        words = said.replace("\\", "").replace('"', "'").encode("ascii", "replace").decode()
        parts = ['realm="Meridian"', *([f'error="{error}"'] if error else []), f'error_description="{words}"']
        parts += [f'resource_metadata="{self.resource_metadata}"', f'scope="{SCOPE}"']
        return f"Bearer {', '.join(parts)}"


def canonical(resource: str) -> str:
    """The one way in which an address of a surface is kept and compared; empty for what is none."""
    try:
        said = urlsplit(resource)
    except ValueError:
        return ""
    if said.query or "#" in resource:
        return ""
    return f"{said.scheme.lower()}://{said.netloc.lower()}{said.path.removesuffix('/')}"
