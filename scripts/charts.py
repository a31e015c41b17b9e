"""Charts for the documents, as SVG: lines over a number, and stacked bars.

They are drawn on white so that they can be read on any page, and hold no date
and no random name, so that the same figures give the same file.
"""
import html
import math

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 70, 170, 40, 48
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


def _frame(title, y_title, marks, place):
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           f'font-family="sans-serif" role="img" aria-label="{html.escape(title)}">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>', _text(LEFT, 20, title, size=14, more='font-weight="bold"')]
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


def lines(title, x_title, y_title, series, log_x=False, marks_x=None, dots=True):
    """series is {name: [(x, y), ...]}; marks_x are the numbers below."""
    places = [p for one in series.values() for p in one]
    xs = sorted({x for x, _ in places})
    marks_x = marks_x or xs
    low, high = (math.log(xs[0]), math.log(xs[-1])) if log_x else (min(0, xs[0]), xs[-1])
    marks = _steps(max(y for _, y in places))

    def px(x):
        v = math.log(x) if log_x else x
        return LEFT + (v - low) / (high - low or 1) * (WIDTH - LEFT - RIGHT)

    def py(y):
        return HEIGHT - BOTTOM - y / marks[-1] * (HEIGHT - TOP - BOTTOM)

    out = _frame(title, y_title, marks, py)
    out += [_text(px(x), HEIGHT - BOTTOM + 16, _label(x), "middle", 11) for x in marks_x]
    out.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_title, "middle"))
    styles = [_style(i) for i in range(len(series))]
    for one, (colour, dash) in zip(series.values(), styles):
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in one)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"/>')
        if dots:
            out += [f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="2.6" fill="{colour}"/>' for x, y in one]
    return "\n".join(out + _legend(series, styles) + ["</svg>"]) + "\n"


def bars(title, y_title, groups, parts):
    """groups is {name: [value of each part]}; parts are stacked."""
    marks = _steps(max(sum(v) for v in groups.values()))

    def py(y):
        return HEIGHT - BOTTOM - y / marks[-1] * (HEIGHT - TOP - BOTTOM)

    out = _frame(title, y_title, marks, py)
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    styles = [_style(i) for i in range(len(parts))]
    for i, (name, values) in enumerate(groups.items()):
        x, under = LEFT + room * (i + 0.15), 0
        for v, (colour, _) in zip(values, styles):
            out.append(f'<rect x="{x:.1f}" width="{room * 0.7:.1f}" y="{py(under + v):.1f}" height="{py(under) - py(under + v):.1f}" fill="{colour}"/>')
            under += v
        out.append(_text(x + room * 0.35, py(under) - 4, _label(round(under)), "middle", 10))
        for j, word in enumerate(name.split(" ")[:3]):
            out.append(_text(x + room * 0.35, HEIGHT - BOTTOM + 13 + 12 * j, word, "middle", 10))
    return "\n".join(out + _legend(parts, styles) + ["</svg>"]) + "\n"
