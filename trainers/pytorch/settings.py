"""The training settings of a request."""

from network import Refused


def check(s):
    """Rejects invalid settings."""
    bounds = {
        "epochs": (0, 1e6), "batch": (1, 1 << 20), "learning_rate": (0, 1e3), "momentum": (0, 1), "weight_decay": (0, 1),
        "label_smoothing": (0, 1), "crop": (0, 1e4),
    }
    known, optional = {*bounds, "schedule", "optimizer", "flip", "seed"}, {"distillation": (0, 1), "temperature": (1, 100), "cycles": (0, 1e6), "average": (0, 0.999999)}
    if set(s) - set(optional) != known:
        wrong = (set(s) - set(optional)) ^ known
        raise Refused(f"settings: {', '.join(sorted(wrong))}: want {', '.join(sorted(known))}, perhaps {', '.join(sorted(optional))}, and no others")
    bounds.update((name, bound) for name, bound in optional.items() if name in s)
    for name, (low, high) in bounds.items():
        if isinstance(s[name], bool) or not isinstance(s[name], (int, float)) or not low <= s[name] <= high:
            raise Refused(f"settings: {name} is {s[name]}; want {low} to {high:g}")
    for name, values in {"schedule": ("constant", "cosine"), "optimizer": ("sgd", "adam")}.items():
        if s[name] not in values:
            raise Refused(f'settings: {name} is "{s[name]}"; want "{values[0]}" or "{values[1]}"')
    cycles = s.get("cycles", 0)
    if cycles > 1 and (s["schedule"] != "cosine" or s["epochs"] % cycles):
        raise Refused(f"settings: cycles is {cycles}; want 0, or a divisor of the epochs, {s['epochs']}, of a cosine")
