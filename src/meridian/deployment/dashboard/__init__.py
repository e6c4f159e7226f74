"""The deployment's own pages, declared as any plugin's are: connected clients, access, and one's password.

`pages` is served as the instance `dashboard` through the same gateway as every other; everyone who is signed in holds read and
write on it, a deployment admin admin. What its views meet as `request.plugin` is the `Desk`.
"""

from meridian.deployment.dashboard import clients, password
from meridian.deployment.dashboard.desk import Desk, pages

__all__ = ["Desk", "clients", "pages", "password"]
