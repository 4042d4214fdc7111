"""Slow twin of mixtures: both policies are run alone, and the row follows one of them to its end."""

from __future__ import annotations

import hashlib
import math
import struct

from worthwhile.policy.till import Till


def falls(seed, share, content, what):
    """Whether the coin falls to the dearer policy: 32 bits of BLAKE2b, salted by the seed."""
    salt = struct.pack("<Q", seed) + bytes(8)
    digest = hashlib.blake2b(
        content, digest_size=4, salt=salt, person=what.ljust(16, b"\0")
    ).digest()
    return struct.unpack("<I", digest)[0] < share


def content_of(known):
    """Columns in their order, each as eight bytes beside the eight of its value."""
    content = b""
    for column in sorted(known):
        value = known[column]
        if math.isnan(value):
            value = math.nan
        elif value == 0:
            value = 0.0
        content += struct.pack("<q", column) + struct.pack("<d", value)
    return content


def purchases(policy, row, limit):
    """The bundles that a policy alone wants of a row, in order, each with whether it was bought."""
    case, till, found = policy.begin(), Till(policy.costs, limit), []
    while bundles := case.wants(till.left(case.evaluated)):
        bundle = bundles[0]
        fits = till.buy(bundle, case.evaluated)
        found.append((bundle, fits))
        if fits:
            for feature in bundle:
                case.learn(feature, float(row[feature]))
        else:
            case.refuse(bundle)
    return found


def follows_dearer(mixture, row, limit):
    """Which of the two a row without a key follows."""
    ways = [
        purchases(policy, row, money)
        for policy in (mixture.first, mixture.second)
        for money in {limit, None}
    ]
    known = {}
    for steps in zip(*ways, strict=False):
        if any(step != steps[0] for step in steps):
            break
        bundle, fits = steps[0]
        if fits:
            known |= {feature: float(row[feature]) for feature in bundle}
    if not known:
        return False
    return falls(mixture.coin.seed, mixture.coin.share, content_of(known), b"values")
