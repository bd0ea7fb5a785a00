#!/usr/bin/env python3
"""The golden values of tests/unit/jinja_test.c, by Jinja itself (python3-jinja2 3.1).

    tests/golden/jinja/make.py          writes cases.json beside itself

Templates are rendered with the environment in which Hugging Face's library renders chat templates:
trim_blocks, lstrip_blocks, loop controls, tojson without escapes for HTML, the tag `generation`.
"""
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = pathlib.Path(__file__).parent
NOW = 1767225600 + 86400 * 40  # 2026-02-10


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(body, lineno=line)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def strftime_now(form):
    return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(form)


ENV = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
ENV.filters["tojson"] = tojson
ENV.globals["raise_exception"] = raise_exception
ENV.globals["strftime_now"] = strftime_now


def render(source, variables):
    try:
        return {"text": ENV.from_string(source).render(**variables)}
    except Raised as error:
        return {"raised": str(error)}
    except Exception as error:  # what is no template, or does what its values cannot
        return {"error": type(error).__name__}


def said(role, content, **more):
    return {"role": role, "content": content, **more}


TOOL = {"type": "function", "function": {"name": "add", "description": "a + b", "parameters": {
    "type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}}}
CALL = said("assistant", None, tool_calls=[{"type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": 2.5}}}])
CHATS = {
    "one": [said("user", "Hello?")],
    "system": [said("system", "  Be brief. "), said("user", " Who are\nyou?\n")],
    "turns": [said("system", "S"), said("user", "A"), said("assistant", " B "), said("user", "C\u00e9\u4e2d \U0001f600")],
    "no system": [said("user", "A"), said("assistant", "<think>\nhm\n</think>\n\nB"), said("user", "C")],
    "ends with the assistant": [said("user", "A"), said("assistant", "\nB")],
    "quiet": [said("system", "/no_think Do it."), said("user", "A"), said("assistant", ""), said("user", "D")],
    "parts": [said("user", [{"type": "text", "text": " one "}, {"type": "image"}, {"type": "text", "text": "two"}])],
    "wrong order": [said("user", "A"), said("user", "B")],
    "no user": [said("system", "S")],
    "tools": [said("user", "1 + 2.5?"), CALL, said("tool", "3.5"), said("tool", "yes"), said("assistant", "3.5"), said("user", "ok")],
    "tools, asked": [said("system", "S"), said("user", "1 + 2.5?")],
    "many": [said("user" if i % 2 == 0 else "assistant", f"turn {i}") for i in range(9)],
}
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "tools": None, "documents": None}


def chats():
    for path in sorted(HERE.glob("*.jinja")):
        for name, messages in CHATS.items():
            for prompt in (True, False):
                more = {"tools": [TOOL]} if name.startswith("tools") else {}
                yield {"file": path.name, "name": name,
                       "variables": {"messages": messages, "add_generation_prompt": prompt, **TOKENS, **more}}
        yield {"file": path.name, "name": "flags", "variables": {
            "messages": CHATS["no system"], "add_generation_prompt": True, **TOKENS, "enable_thinking": False,
            "date_string": "yesterday"}}


DATA = {"x": 3, "y": -2.5, "big": 2**53 + 1, "s": "  The Quick brown-fox (jumps)  ", "u": "caf\u00e9 \u4e2d\u6587 \U0001f600!",
        "l": [3, 1, 2], "e": [], "d": {"b": 1, "A": [1, {"k": None}], "c": "two"}, "t": True, "none": None,
        "people": [{"n": "ann", "age": 30, "at": {"city": "Ulm"}}, {"n": "bob", "age": 20, "at": {}}, {"n": "cy"}],
        "quotes": "it's \"so\"\n\\ \t\u0001"}
PIECES = """
1 + 2 * 3 - 4
7 // 2, -7 // 2, 7 % 3, -7 % 3, 7 % -3
7 / 2, 6 / 3, 7.5 // 2, 1e20, 1.5e-7, 0.1 + 0.2, 100.0, 1e15, 1e16, 123456789.123
-x|abs, -x, +x, y|abs, - -x
2 * -3 + x
'a' ~ 1 ~ none ~ true ~ 2.0
'a' 'b' "c"
'ab' * 3
[1, 2] + [3]
(1, 2), (1,), ()
{'a': 1, "b": [1, 2, {}]}
{'a': 1}['a'], {'a': 1}.a, {'a': 1}['b'], {'a': 1}.get('b'), {'a': 1}.get('b', 7)
l[0], l[-1], l[5], l[1:], l[:-1], l[::-1], l[::2], l[5:], l[-2:]
s[2], s[2:5], u[5], u[-1], u[3:6], u[::-1]
u|length, s|length, l|length, d|length, missing|length
missing, missing|default('m'), none|default('m'), none|default('m', true), e|d('empty', boolean=true), x|default(1)
missing is defined, x is defined, missing is undefined, d.zz is defined, d['b'] is defined, none is none, x is none, x is not none
x is number, t is number, t is boolean, x is integer, t is integer, y is float, s is string, l is sequence, s is sequence, d is mapping, l is iterable, x is iterable, d is iterable
x is odd, x is even, x is divisibleby 3, x is divisibleby(2), 4 is even
x is eq 3, x is equalto(3), x is ne 3, x is gt 2, x is ge 3, x is lt 3, x is le 3, x is in [1, 3], 'b' is in d
'abc' is lower, 'ABC' is upper, '1' is upper, true is true, 1 is true, false is false, none is sameas none
x == 3, x == 3.0, 'a' != 'b', l == [3, 1, 2], d == d, none == none, 1 == true, '1' == 1
1 < 2 < 3, 1 < 3 < 2, 'a' < 'b', 'ab' < 'a', 2 >= 2, 'a' in 'cat', 'x' not in 'cat', 1 in l, 9 not in l, 'b' in d, 'x' in missing
true and 0, 0 or 'x', not 0, not none, not x is defined, true and not false or false
'y' if x > 2 else 'n', 'y' if x > 5, ('a' if t else 'b') ~ 'c', 1 if 0 else 2 if 0 else 3
s|trim, s|upper, s|lower, s|title, s|trim|capitalize, 'xxaxx'|trim('x')
s.strip(), s.lstrip(), s.rstrip(), 'xyaxy'.strip('xy'), s.upper(), s.lower(), s.title(), 'they\\'re bill\\'s'.title(), 'aB c'.capitalize()
'a,b,,c'.split(','), 'a b  c '.split(), 'a-b-c'.split('-', 1), 'a-b-c'.split('-')[-1], 'a\\nb\\r\\nc\\n'.splitlines(), ''.split(), ''.split(',')
'abc'.startswith('ab'), 'abc'.endswith('bc'), 'abc'.startswith(('x', 'a')), 'abc'.removeprefix('a'), 'abc'.removesuffix('x')
'aXbX'.replace('X', '-'), 'aXbX'.replace('X', '-', 1), 'aXbX'|replace('X', ''), 'abab'.count('ab'), u.find('\\u4e2d'), 'abc'.find('z')
'12'.isdigit(), 'a1'.isdigit(), 'ab'.isalpha(), ' '.isspace(), ', '.join(['a', 'b'])
'\\x41\\u00e9\\t|\\\\|\\'|\\q'
l|join, l|join('-'), l|first, l|last, e|first, 'abc'|list, 'abc'|first, l|reverse|list, 'abc'|reverse, d|list
l|map('string')|join('+'), people|map(attribute='n')|join(','), people|map(attribute='at.city', default='?')|list|length, ['a', 'b']|map('upper')|list
people|selectattr('age')|map(attribute='n')|list, people|selectattr('age', 'gt', 25)|map(attribute='n')|list
people|selectattr('age', 'defined')|map(attribute='n')|list, people|rejectattr('n', 'equalto', 'bob')|map(attribute='n')|list, people|rejectattr('n', 'in', ['ann', 'cy'])|list|length
[1, 2, 3, 4]|select('even')|list, [1, 2, 3, 4]|reject('odd')|list, [0, 1, '']|select|list
d.items()|list, d.keys()|list, d.values()|list, d|items|list, d|dictsort, {'b': 1, 'A': 2}|dictsort
d|tojson, l|tojson(indent=2), d|tojson(indent=4), {}|tojson(indent=2), e|tojson, quotes|tojson, u|tojson, t|tojson, none|tojson, y|tojson, 1.0|tojson
quotes, [quotes], ['a', none, true, 1.5, "it's"], [u]
'42'|int, ' 7 '|int, 'x'|int, 'x'|int(5), 3.9|int, '1'|int + 1, 3|string ~ '!', t|int
'a\\nb\\n\\nc'|indent(2), 'a\\nb'|indent(2, true), 'a\\nb'|indent
range(3)|list, range(1, 8, 3)|list, range(3, 0, -1)|list, dict(a=1, b=2)
[3, 1, 2].index(1), [1, 1].count(1)
strftime_now('%Y-%m-%d'), big, 9007199254740993 + 1, 1_000
x.foo is defined, s.foo is defined, (x, s)[0]
{'a': {'b': {'c': 1}}}['a'].b['c'], [[1, 2], [3]][0][1], people[0].at.city, people[1].at.city, people[-1]['n'][0]
missing.foo
none.foo
missing + 'a'
'a' + 1
1 + none
'a' < 1
none|length
foo()
1 / 0
'a' in none
{} + {}
raise_exception('no')
"""
TEXTS = [
    "a\n{% if t %}\n  b\n{% endif %}\nc\n", "  {% if t %}x{% endif %}\n  y\n\n", "{%- if t -%}  \n x \n {%- endif %} \n z",
    "a  {{- ' b ' -}}  c", "a {#- gone -#} b", "a {# gone #}\nb", "  {# gone #}\nb", "x {%+ if t %} y {%+ endif +%}\nz", "{{ x }}\n{{ x }}\n",
    "{% for i in l %}{{ i }},{% endfor %}", "{% for i in l %}\n  {{ i }}\n{% endfor %}\n", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for i in e %}a{% else %}none{% endfor %}", "{% for i in missing %}a{% else %}none{% endfor %}", "{% for c in 'abc' %}{{ c }}.{% endfor %}",
    "{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}", "{% for i in l if i > 1 %}{{ i }}/{{ loop.length }} {% endfor %}",
    "{% for i in l %}{% for j in l %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}", "{% for i in l %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in range(9) %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}!", "{% set a = 1 %}{% for i in l %}{{ a }}{% set a = 2 %}{{ a }}{% endfor %}{{ a }}",
    "{% set a = 1 %}{% if t %}{% set a = 2 %}{% endif %}{{ a }}", "{% set ns = namespace(a=1, b=[]) %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = l[:2] %}{{ a }}{{ b }}", "{% set a %}x{{ x }}{% endset %}[{{ a }}]", "{% set a = 1, 2 %}{{ a }}",
    "{% macro m(a, b=2) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, b='x') }}{{ m() }}", "{% macro r(n) %}{{ n }}{% if n > 0 %}{{ r(n - 1) }}{% endif %}{% endmacro %}{{ r(4) }}",
    "{% if x == 1 %}a{% elif x == 2 %}b{% elif x == 3 %}c{% else %}d{% endif %}", "{% if missing %}a{% else %}b{% endif %}", "{% if not (x == 3 and l) %}a{% endif %}b",
    "{{ {'a': {'b': 1}} }}{{ '}}' }}{{ \"%}\" }}", "{{ '{{' }} { } {x {- %} }}", "a\r\nb\rc\r\n", "{{ x\n +\n 1 }}\n\n\nb\n\n", "{% generation %}a{% endgeneration %}b",
    "{%   set  a='b'%}{{a}}", "{{-x-}}", "", "\n", "{{ '\n' }}", "{% if t -%}\n\n   a\n   {%- endif %}  \n", "\t{%- if t %}\ta{% endif -%}\t\n\tb",
    "{% for i in [1,2] -%}\n  {{ i }}\n{%- endfor %}", "{% for a, b in [[1, 2], (3, 4)] %}{{ a + b }} {% endfor %}", "{{ x }", "{% if %}", "{% if t %}", "{{ }}", "{% endif %}", "{{ 1 + }}",
    "{{ 'a }}", "{# never", "{{ (1 }}", "{{ 1) }}", "{% for x %}{% endfor %}", "{{ x y }}", "{{ a b }}", "{% for i, j in l %}{% endfor %}", "{% break %}",
]


def pieces():
    for line in PIECES.strip().split("\n"):
        if "," not in line or line[0] in "{(" and line.count(",") < 1:
            yield "{{ " + line + " }}"
            continue
        # Each part of a list on its own, as far as brackets and quotes allow.
        depth, quote, part, last = 0, "", "", ""
        for c in line + ",":
            if c == "," and depth == 0 and not quote:
                yield "{{ " + part.strip() + " }}"
                part = ""
                continue
            if quote:
                quote = "" if c == quote and last != "\\" else quote
            elif c in "'\"":
                quote = c
            depth += (c in "([{") - (c in ")]}") if not quote else 0
            part, last = part + c, c


def main():
    out = []
    for case in chats():
        source = (HERE / case["file"]).read_text()
        out.append({**case, **render(source, case["variables"])})
    for source in [*pieces(), *TEXTS]:
        out.append({"source": source, **render(source, DATA)})
    root = {"now": NOW, "data": DATA, "cases": out}
    (HERE / "cases.json").write_text(json.dumps(root, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
