"""What columns are called, in several languages, and which of a file's columns is meant.

Names alone decide, and they are nobody's data. A name is compared without its case, and without spaces, underscores,
hyphens and dots.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

KNOWN_NAMES = {
    "user": """user userid username uid anonid anonymousid member memberid customer customerid client clientid visitor
        visitorid person personid deviceid cookieid benutzer benutzerid nutzer nutzerid kunde kundennummer utilisateur
        idutilisateur usuario idusuario usuário utente idutente gebruiker användare bruger bruker käyttäjä użytkownik
        uživatel пользователь 用户 用户id 用戶 ユーザー ユーザーid 사용자 사용자id""",
    "query": """query q search searchterm searchquery searchphrase keyword keywords suche suchbegriff suchanfrage
        anfrage requête requete recherche consulta búsqueda busqueda busca pesquisa ricerca zoekterm zoekopdracht
        sökning søgning søk haku zapytanie wyszukiwanie dotaz запрос 查询 查询词 搜索 搜索词 关键词 搜尋 検索 検索語
        キーワード 검색어""",
    "url": """url clickurl clickedurl link href webadresse lien enlace ссылка 网址 链接 網址 リンク 링크""",
    "time": """time timestamp datetime date querytime searchtime day ts zeit zeitpunkt zeitstempel datum dateheure fecha
        fechahora дата время 时间 日期 時間 日時 시간""",
}
"""The names that are known for what a column holds."""

_KNOWN = {role: frozenset(names.split()) for role, names in KNOWN_NAMES.items()}
_BETWEEN = re.compile(r"[\s_.\-]+")


def candidates(names: Sequence[str], role: str, name: str | None) -> list[int]:
    """Where the columns stand that may be meant by a name, or by what is known for a role: the best match alone.

    A column of just that name comes first, then those that differ in case, then, if ``name`` is None or the role's
    own, those of a name that is known.
    """
    wanted = role if name is None else name
    exact = [at for at, other in enumerate(names) if other == wanted]
    alike = [at for at, other in enumerate(names) if other.casefold() == wanted.casefold()]
    known = [at for at, other in enumerate(names) if plain(other) in _KNOWN.get(role, ())] if wanted == role else []
    return exact or alike or known


def plain(name: str) -> str:
    """A name without its case and what stands between its parts."""
    return _BETWEEN.sub("", name.strip().casefold())
