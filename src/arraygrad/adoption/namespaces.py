"""Namespaces that an adopted call reaches, and the places in them.

Note [Files of adoption] in __init__.py names the files beside it.

May import: adoption.exchange, adoption.bindings, adoption.code, adoption.identity_comparisons, adoption.stand_ins,
adoption.table, adoption.type_uses, the standard library, numpy. Begin with Note [What adoption reaches] in reach.py,
whose numbers stand here.
"""

import builtins
import weakref

import numpy

from arraygrad.adoption.bindings import Patch, watch
from arraygrad.adoption.code import handed_over, names_in, takes_attribute_of, uses_array_type
from arraygrad.adoption.exchange import Namespace, forgotten
from arraygrad.adoption.identity_comparisons import ITEMS, codes_of, compared_in, items_compared_in, keys_in
from arraygrad.adoption.stand_ins import pair_of, showing, shows
from arraygrad.adoption.table import CALLED, SCALAR_TYPES, STAND_INS, WITHOUT_SCALAR_TYPES
from arraygrad.adoption.type_uses import names_of_types, uses_types_up

__all__ = ["BUILTINS", "CACHES", "NOTHING", "PASSING", "Names", "cache_for", "forget", "renewed", "wanted"]

# The builtins that have stand-ins, by name: a module finds them when its own globals lack the name.
BUILTINS = ("compile", "complex", "eval", "exec", "float", "getattr", "hasattr", "hash", "isinstance", "super", "type")

_BUILTIN_NAMES = frozenset(BUILTINS)
# Names of code that gets real modules where their names hold stand-ins (8).
_ASKING = frozenset(("__import__", "import_module"))
_SYS_MODULES = frozenset(("sys", "modules"))
NOTHING = compile("", "", "exec")

# The key under which globals that were copied for a few calls hold their Names: what is known of them goes with them.
PASSING = "__arraygrad_names__"

_namespaces: dict = {}  # id of a dict -> its Names, which keeps it alive
_passing: weakref.WeakSet = weakref.WeakSet()  # Names of copied globals
CACHES: list = []  # what else `forget` empties
MANY = 4096  # so many namespaces are kept


class Names(Namespace):
    """A namespace, the globals of some module, and the places that stand-ins are put into.

    Attributes
    ----------
    namespace : dict
    places : list of (dict, key, real thing, stand-in)
        In the namespace itself.
    shared : list of Patch
        In dicts that are its globals; cells, defaults and code of functions, items and attributes (3).
    compared : frozenset of int
        Ids of the real things that code here compares, and that are keys here (5).
    held : frozenset of int
        Ids of the real things that tuples and other places without stand-ins hold, or lists that are compared (8).
    users : int
        How many running adopted calls have the stand-ins in place. Guarded by the lock of `exchange.pyx`.
    """

    __slots__ = (
        "__weakref__", "_base", "_codes", "_handed", "_kept", "_looked", "_others", "_shared", "_used", "_whole",
        "added", "apart", "attributes", "caches", "compared", "held",
    )  # fmt: skip

    def __init__(self, namespace):
        self.namespace = namespace
        self._base = self  # of one that is `without` some: the whole
        self.users = 0
        self.places = []
        self.shared = []
        self.added = []
        self._shared = {}
        self._codes = {}  # id -> code object that was seen
        self._handed = None
        self._used = set()  # names of builtins in them
        self._looked = None
        self._others = {}
        self.named = set()
        self.attributes = set()  # names that code elsewhere takes of the module
        self.held = self.apart = self._kept = frozenset()
        self.caches = {}  # id of a cache -> what it would keep with the namespace, where that is a copy
        self._whole = {}  # id of the code of a function that is defined here, reached or not -> (it, what it compares)
        self.compared = frozenset()

    @classmethod
    def of(cls, namespace):
        """The Names of a namespace."""
        if PASSING in namespace:
            return cls._passing(namespace)
        found = _namespaces.get(id(namespace))
        if found is None:
            if len(_namespaces) > MANY:
                forget()
            found = _namespaces[id(namespace)] = cls(namespace)
        return found

    @classmethod
    def _passing(cls, namespace):
        found = namespace[PASSING]
        if found is None or found.namespace is not namespace:  # copied once more
            found = namespace[PASSING] = cls(namespace)
            _passing.add(found)
        return found

    def saw(self, code, places=(), held=()):
        """Note a code object that looks names up here, places that belong to its function, and what is held (8)."""
        if id(code) not in self._codes:
            self._codes[id(code)] = code
            self._looked = None
            names = names_in(code)
            self._used.update(names & _BUILTIN_NAMES)
            if takes_attribute_of(code, "super"):  # the class itself, whose stand-in is a function
                self.held |= {id(super)}
                self.compared |= {id(super)}
            self.named.update(names)
            self.compared |= compared_in(self.namespace, code)
            self.held |= items_compared_in(self.namespace, code)
            if names & _ASKING or names >= _SYS_MODULES:
                self.held |= STAND_INS.keys()
        for place in places:
            self._shared[id(place)] = place
            self._looked = None
        if held:
            self.held |= held

    def attributes_are(self, names):
        """Note names that code elsewhere takes of the module: `other.h(x)`."""
        if not names <= self.attributes:
            self.attributes.update(names)
            self.named.update(names)
            self._looked = None

    def look(self):
        """Find the places, unless nothing has changed or they are in use."""
        if self.watch is not None:
            self.state()  # what was bound anew since then is noticed before it is taken for known
        if self._looked == len(self.namespace):
            return
        if self.runs():
            self.stale = True  # what this search has found is put into place when no call runs here
            return
        places = []
        inside = []
        runs = not self._codes.keys() <= {id(NOTHING)}
        kept = self._left_alone()
        called = self._calls_array_type()
        for name, value in list(self.namespace.items()):
            if not runs and name not in self.attributes:
                continue
            pair = pair_of(value)
            if called and (value is numpy or value is numpy.ndarray):
                pair = (value, CALLED[id(value)])
            if pair is not None:
                if name not in _BUILTIN_NAMES or name in self._used:
                    places.append((self.namespace, name, *pair))
            elif type(value) is dict and len(value) <= ITEMS and "__name__" not in value and not name.startswith("__"):
                # no namespace: those of NumPy and the standard library stay as they are
                for key, item in value.items():
                    pair = pair_of(item)
                    if pair is not None:
                        inside.append(Patch.of(value, key, *pair, False, True))
        for name in self._used - self.namespace.keys():
            # The name stays there from now on, with the real thing: names that come and go cost lookups everywhere.
            self.namespace[name] = getattr(builtins, name)
            self.added.append(name)
            places.append((self.namespace, name, *STAND_INS[id(self.namespace[name])]))
        self.places = _but_for(places, self._may_show(kept, places))
        self.shared = _shared_but_for({id(place): place for place in (*self._shared.values(), *inside)}.values(), kept)
        self._kept = kept
        self.compared |= keys_in(self.namespace, self.named)
        self.watch = watch(self.namespace, self.named)
        self._looked = len(self.namespace)
        self.absent = frozenset(self.named - self.namespace.keys())
        self._others.clear()
        if self.siblings is not None:
            self.siblings.clear()  # none of them runs

    def late(self):
        """Patches that were found while calls ran here, so that they are not in `shared` yet."""
        if not self.stale:
            return []
        known = {id(place) for place in self.shared}
        return [place for key, place in self._shared.items() if key not in known and place.real not in self._kept]

    def _calls_array_type(self):
        """Whether code here calls numpy.ndarray, and does nothing else with it: only then it has a stand-in (7)."""
        uses = [uses_array_type(code) for code in (*self._codes.values(), *codes_of(self.namespace))]
        return any(calls for calls, _ in uses) and not any(more for _, more in uses)

    def _left_alone(self):
        """Ids of the real things that any code here compares: they have no stand-in here (5)."""
        found = keys_in(self.namespace)
        self._whole, before = {}, self._whole
        for code in codes_of(self.namespace):
            compared = before.get(id(code)) or (code, compared_in(self.namespace, code))
            self._whole[id(code)] = compared
            found |= compared[1]
        return found

    def _may_show(self, real, places):
        """Of these ids of real things those whose stand-ins in places of the namespace might be compared.

        All but the types of scalars where code here uses them up: Note [Types of scalars that stay], 3.
        """
        if SCALAR_TYPES.isdisjoint(real) or not self._uses_types_up(places):
            return real
        return real - SCALAR_TYPES

    def _uses_types_up(self, places):
        """Whether no code gets a type of scalars from here, or numpy with them, that could compare it."""
        modules = {name for _, name, thing, _ in places if thing is numpy}
        known = {name for _, name, thing, _ in places if id(thing) in SCALAR_TYPES}
        if not known <= names_of_types() or self._base.attributes & (modules | known):
            return False
        codes = {id(code): code for code in (*self._base._codes.values(), *codes_of(self.namespace))}.values()
        return all(uses_types_up(code, self.namespace) and modules.isdisjoint(handed_over(code)[0]) for code in codes)

    def looked_up(self):
        """Names that code was seen to look up here, or takes of the module."""
        return self._base.named

    def comparing(self):
        """The code that was seen here, whose comparisons hold in every module of a call."""
        return list(self._base._codes.values())

    def keys(self):
        """Ids of the real things that are keys in what the code that was seen here names."""
        return keys_in(self.namespace, self._base.named)

    def now(self):
        """The Names of the namespace, after `forget()` too: with all that was seen here."""
        base, now = self._base, Names.of(self.namespace)
        if now is not base:
            for code in base._codes.values():
                now.saw(code)
            now.saw(NOTHING, base._shared.values(), base.held)
            now.attributes_are(base.attributes)
        now.look()
        return now

    @property
    def package(self):
        """Name of the package that the module belongs to."""
        return (self.namespace.get("__name__") or "").partition(".")[0]

    def handed(self):
        """What all code that was seen here hands over: see `handed_over`."""
        if self._handed is None or self._handed[0] != len(self._codes):
            sets = [handed_over(code) for code in (NOTHING, *self._codes.values())]
            self._handed = len(self._codes), [frozenset().union(*same) for same in zip(*sets, strict=True)]
        return self._handed[1]

    def hands_over(self, elsewhere, attributes):
        """Ids of the real things among those compared `elsewhere` that may get there from here (5): two sets.

        Those that a name of this namespace may hand over (`lib.f(np)`, `lib.f(exp)`), and those that code takes of a
        module to hand them over (`lib.f(np.exp)`). `attributes`: names that any code of the call takes of something.
        """
        names, values, _ = self.handed()
        things = [STAND_INS[one][0] for one in elsewhere if one in STAND_INS]
        named = frozenset(id(thing) for _, key, thing, _ in self.places if key in names or key in attributes)
        taken = frozenset(id(thing) for thing in things if getattr(thing, "__name__", "") in values)
        return tuple([(s if s.isdisjoint(SCALAR_TYPES) else s | SCALAR_TYPES) & elsewhere for s in (named, taken)])

    def without(self, real, apart=frozenset(), elsewhere=frozenset(), attributes=frozenset()):
        """As this, but for places of the real things with these ids, and the loose ones of those `apart`.

        `elsewhere`: ids of what other packages compare, which keeps stand-ins under names that do not get there.
        """
        named, taken = self.hands_over(elsewhere - real, attributes)
        real |= taken
        if not real and not apart and not elsewhere:
            return self
        other = self._others.get((real, named, apart, elsewhere))
        if other is None:
            other = self._others[real, named, apart, elsewhere] = Names(self.namespace)
            other._base = self
            other.home = self
            other.apart = apart
            if self.siblings is None:
                self.siblings = [self]
            other.siblings = self.siblings
            shown = self._may_show(named | real, self.places)
            other.places = _but_for([place for place in self.places if id(place[2]) not in named & shown], real & shown)
            other.shared = _tight(_shared_but_for(self.shared, real | elsewhere), apart)
        return other


def cache_for(namespace, cache):
    """The cache for what is kept together with a namespace: for copied globals one that goes with them."""
    if PASSING not in namespace:
        return cache
    return Names.of(namespace).caches.setdefault(id(cache), {})


def wanted(found, places=(), held=frozenset()):
    """Names and Patches but for what code that was found compares (5), and the loose ones of what is held (8)."""
    places = [*places, *[place for names in found for place in names.late()]]
    compared = frozenset().union(*[names.compared for names in found])
    apart = compared.union(held, *[names.held | names._kept for names in found])
    if all(len(_tight(some, apart)) == len(some) for some in (places, *[names.shared for names in found])):
        apart = frozenset()
    if not compared and not apart:
        return found, places
    by_package, everywhere = {}, frozenset()
    attributes = frozenset().union(*[names.handed()[2] for names in found])
    for names in found:
        by_package[names.package] = by_package.get(names.package, frozenset()) | names.compared
        if any(_makes_objects(STAND_INS[one][0]) for one in names.compared if one in STAND_INS):
            everywhere |= names.compared
    return (
        [names.without(by_package[names.package] | everywhere, apart, compared, attributes) for names in found],
        _tight(_shared_but_for(places, compared), apart),
    )


def _makes_objects(thing):
    """Whether objects that the stand-in for a class makes show which class that is, wherever they get."""
    return isinstance(thing, type) and thing not in (float, complex, type) and id(thing) not in SCALAR_TYPES


def renewed(found):
    """What a call has put into place, and the calls around it, looked at again: (Names, Patches, the same or None)."""
    names, places, around = found
    held = frozenset().union(*[one.apart for one in names])
    names = wanted([one.now() for one in names], (), held)[0]
    return names, places, None if around is None else renewed(around)


def _tight(places, apart):
    """The places but for loose ones of the real things with these ids."""
    return [place for place in places if not (place.loose and place.real in apart)]


def _shared_but_for(places, real):
    """As `_but_for`, of Patches: one that holds a module which shows one of the real things stays as it is."""
    found = [place for place in places if place.real not in real]
    if not SCALAR_TYPES.isdisjoint(real):
        found = [place.but_for_types() for place in found if place.real not in SCALAR_TYPES]
    rest = real - SCALAR_TYPES
    return [place for place in found if not shows(place.pair[0], rest)] if rest else found


def _but_for(places, real):
    """The places but for those of the real things with these ids, and modules in them with the real things."""
    if not real:
        return places
    found = [place for place in places if id(place[2]) not in real]
    if not SCALAR_TYPES.isdisjoint(real):
        found = [
            (holder, key, what, WITHOUT_SCALAR_TYPES.get(id(other), other))
            for holder, key, what, other in found
            if id(what) not in SCALAR_TYPES
        ]
    rest = real - SCALAR_TYPES
    if not rest:
        return found
    return [(holder, key, what, showing(what, other, rest)) for holder, key, what, other in found]


def forget():
    """Take out of all namespaces what was added to them, and look at them afresh when they are reached again."""
    forgotten()
    for cache in CACHES:
        cache.clear()
    for names in [*_namespaces.values(), *_passing]:
        if names.runs():
            names.stale = True
            continue
        for name in names.added:
            if names.namespace.get(name) is getattr(builtins, name):
                del names.namespace[name]
        if names.namespace.get(PASSING) is names:
            names.namespace[PASSING] = None
            _passing.discard(names)
        else:
            del _namespaces[id(names.namespace)]
