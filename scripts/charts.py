"""Charts for the documents, as SVG: lines over a number, and stacked bars.

A point whose figures are called invalid is hollow, and a line without points is
dashed; the legend says so. The charts are drawn on white so that they can be read on any page, and hold no date
and no random name, so that the same figures give the same file.
"""
import html
import math

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 70, 200, 40, 48
NAMES = 190  # room for the names of horizontal bars, in pixels
ROW = 26     # height of one of them
COLOURS = ["#1f5fa8", "#c2571a", "#2f7d4f", "#8a3f96", "#a08000", "#5a5a5a", "#b3224d", "#1a8a96"]
DASHES = ["", "6 3", "2 3", "8 3 2 3"]


def _steps(high, wanted=5):
    """Round numbers from 0 to a little above high."""
    if high <= 0:
        return [0, 1]
    rough = high / wanted
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
    return [i * step for i in range(int(math.ceil(high / step - 1e-9)) + 1)]


def _label(v):
    if v >= 1000:
        return f"{v:,.0f}"
    return f"{v:g}"


def _text(x, y, what, anchor="start", size=12, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" {more}>{html.escape(what)}</text>'


def _start(title, height):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'font-family="sans-serif" role="img" aria-label="{html.escape(title)}">',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', _text(LEFT, 20, title, size=14, more='font-weight="bold"')]


def _frame(title, y_title, marks, place):
    out = _start(title, HEIGHT)
    for v in marks:
        y = place(v)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(_text(LEFT - 6, y + 4, _label(v), "end", 11))
    out.append(_text(14, (TOP + HEIGHT - BOTTOM) / 2, y_title, "middle", 12,
                     f'transform="rotate(-90 14 {(TOP + HEIGHT - BOTTOM) / 2:.1f})"'))
    return out


def _legend(names, styles):
    out = []
    for i, (name, (colour, dash)) in enumerate(zip(names, styles)):
        y = TOP + 10 + 18 * i
        x = WIDTH - RIGHT + 12
        out.append(f'<line x1="{x}" x2="{x + 22}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3" stroke-dasharray="{dash}"/>')
        out.append(_text(x + 28, y + 4, name, size=11))
    return out


def _style(i):
    return COLOURS[i % len(COLOURS)], DASHES[(i // len(COLOURS)) % len(DASHES)]


def lines(title, x_title, y_title, series, log_x=False, marks_x=None, dots=True, invalid=()):
    """series is {name: [(x, y), ...]}; marks_x are the numbers below, or {number: word}.

    invalid has the points (name, x) whose figures are called invalid.
    """
    places = [p for one in series.values() for p in one]
    xs = sorted({x for x, _ in places})
    marks_x = marks_x or xs
    words = marks_x if isinstance(marks_x, dict) else {x: _label(x) for x in marks_x}
    low, high = (math.log(xs[0]), math.log(xs[-1])) if log_x else (min(0, xs[0]), xs[-1])
    marks = _steps(max(y for _, y in places))

    def px(x):
        v = math.log(x) if log_x else x
        return LEFT + (v - low) / (high - low or 1) * (WIDTH - LEFT - RIGHT)

    def py(y):
        return HEIGHT - BOTTOM - y / marks[-1] * (HEIGHT - TOP - BOTTOM)

    out = _frame(title, y_title, marks, py)
    out += [_text(px(x), HEIGHT - BOTTOM + 16, word, "middle", 11) for x, word in words.items()]
    out.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_title, "middle"))
    styles = [_style(i) for i in range(len(series))]
    if not dots:
        doubtful = {name for name, _ in invalid}
        styles = [(colour, "5 3" if name in doubtful else dash) for name, (colour, dash) in zip(series, styles)]
    for (name, one), (colour, dash) in zip(series.items(), styles):
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in one)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"/>')
        if dots:
            out += [_dot(px(x), py(y), colour, (name, x) in invalid) for x, y in one]
    out += _legend(series, styles)
    if invalid:
        out.append(_text(WIDTH - RIGHT + 12, TOP + 24 + 18 * len(series), ("hollow" if dots else "dashed") + ": figures called invalid", size=11))
    return "\n".join(out + ["</svg>"]) + "\n"


def _dot(x, y, colour, hollow):
    inside = "#ffffff" if hollow else colour
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3.4 if hollow else 2.6}" fill="{inside}" stroke="{colour}"/>'


def bars(title, x_title, groups, parts):
    """groups is {name: [value of each part]}, a horizontal bar each; parts are stacked."""
    marks = _steps(max(sum(v) for v in groups.values()))
    bottom = TOP + ROW * len(groups)

    def px(v):
        return NAMES + v / marks[-1] * (WIDTH - NAMES - RIGHT)

    out = _start(title, bottom + BOTTOM)
    for v in marks:
        out.append(f'<line x1="{px(v):.1f}" x2="{px(v):.1f}" y1="{TOP}" y2="{bottom}" stroke="#dddddd"/>')
        out.append(_text(px(v), bottom + 16, _label(v), "middle", 11))
    out.append(_text((NAMES + WIDTH - RIGHT) / 2, bottom + 38, x_title, "middle"))
    styles = [_style(i) for i in range(len(parts))]
    for i, (name, values) in enumerate(groups.items()):
        y, before = TOP + ROW * i, 0
        for v, (colour, _) in zip(values, styles):
            out.append(f'<rect x="{px(before):.1f}" y="{y + 4}" width="{px(before + v) - px(before):.1f}" height="{ROW - 8}" fill="{colour}"/>')
            before += v
        out.append(_text(NAMES - 8, y + ROW / 2 + 4, name, "end", 11))
        out.append(_text(px(before) + 4, y + ROW / 2 + 4, f"{before:,.0f}", size=10))
    return "\n".join(out + (_legend(parts, styles) if len(parts) > 1 else []) + ["</svg>"]) + "\n"
