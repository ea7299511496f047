#!/usr/bin/env python3
"""Writes what Python's jinja2 prints for the templates of tests/chat/templates and for snippets, as tests/chat/cases.json.

    tests/chat/record.py >tests/chat/cases.json

The environment is that of transformers 4.x and 5.x, apply_chat_template: an immutable sandbox, trim_blocks, lstrip_blocks, loop
controls, a generation block, tojson by json.dumps without escapes, raise_exception, strftime_now (a fixed date here).
Recorded with jinja2 3.1.6, markupsafe 3.0, Python 3.11; the versions that ran are written into the file.
"""

import datetime
import glob
import importlib.metadata
import json
import os
import platform
import sys

import jinja2

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = os.path.dirname(os.path.abspath(__file__))
DATE = (2024, 7, 26)


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_support"), [], [], body).set_lineno(line)

    def _support(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
env.filters["tojson"] = tojson
env.globals["raise_exception"] = raise_exception
env.globals["strftime_now"] = lambda format: datetime.datetime(*DATE).strftime(format)

SAID = ["What is 2 + 2?", "It is 4.", "Und \u00fc \u4f60\u597d?\nsecond line", "<b>\"yes\" & 'no'</b>", "Why?", "Because.", "Ok", "Fine.", "Bye"]
TOOLS = [{"type": "function", "function": {"name": "add", "description": "It's \"add\" \u00e9", "parameters": {
    "type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number", "default": 1.5}}, "required": ["a"]}}}]

DATA = {
    "n": 7, "f": 2.5, "t": "Hello, W\u00f6rld", "w": "  \n two  words\t", "none": None, "yes": True, "empty": [], "l": [3, 1, 2],
    "d": {"b": 1, "a": [1, "x", None, True, 2.0, {"k": "it's"}], "items": "own"}, "names": ["bob", "Al", "cy", "al"],
    "m": [{"role": "user", "content": "u1", "n": 2}, {"role": "assistant", "content": "a1", "n": 1}, {"role": "user", "content": "u2"}],
    "esc": "tab\t nl\n quote\" back\\ \u0001 \u007f \u2028 \U0001f600", "html": "<a href='x'>&</a>",
}

SNIPPETS = """\
{{ t }}|{{ n }}|{{ f }}|{{ none }}|{{ yes }}|{{ missing }}|{{ l }}|{{ d }}
{{ 1e16 }} {{ 1e15 }} {{ 1.0 }} {{ 0.1 + 0.2 }} {{ 1e-5 }} {{ 1.5e-7 }} {{ 123456.789 }} {{ 2.0 ** 3 if false else 8 }} {{ 1_000 }}
{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 4 / 2 }} {{ 2 ** 10 }} {{ -2 ** 2 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1 - -1 }}
{{ 'a' + 'b' }} {{ 'a' * 3 }} {{ [1] + [2] }} {{ (1,) + (2, 3) }} {{ 'a' ~ 1 ~ none ~ missing ~ 2.0 }} {{ 3 * 'ab' }} {{ [0] * 2 }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 5 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ none == missing }} {{ missing == absent }}
{{ 1 in l }} {{ 9 not in l }} {{ 'ell' in t }} {{ 'b' in d }} {{ 'x' in missing }} {{ not 1 in l }} {{ 'z' not in t }}
{{ n or 'x' }} {{ none or 'x' }} {{ '' and 1 }} {{ n and f }} {{ not none }} {{ 'y' if yes }} {{ 'y' if not yes }}| {{ 'a' if none else 'b' if none else 'c' }}
{{ l[0] }} {{ l[-1] }} {{ l[9] }}| {{ l[1:] }} {{ l[:-1] }} {{ l[::-1] }} {{ l[::2] }} {{ t[1:4] }} {{ t[::-1] }} {{ t[-3:] }} {{ t[8] }} {{ l[5:1] }} {{ l[2:0:-1] }} {{ t[:100] }} {{ l[-2:][0] }}
{{ d.b }} {{ d['b'] }} {{ d.a[5].k }} {{ d['items'] }} {{ d.missing }}| {{ d['missing'] }}| {{ m[0].content }} {{ m.0.role }} {{ d.a.5['k'] }}
{{ d.missing is defined }} {{ d is defined }} {{ missing is not defined }} {{ none is none }} {{ missing is none }} {{ t is string }} {{ d is mapping }} {{ l is sequence }} {{ t is sequence }} {{ n is iterable }} {{ d is iterable }} {{ yes is boolean }} {{ 1 is true }} {{ yes is true }} {{ false is false }} {{ n is number }} {{ yes is number }} {{ yes is integer }} {{ f is float }} {{ n is odd }} {{ n is even }} {{ n is divisibleby 7 }} {{ n is eq 7 }} {{ n is in [7] }} {{ missing is string }} {{ missing is iterable }} {{ missing is sequence }} {{ t is lower }} {{ 'ABC' is upper }} {{ n is gt 3 }}
{{ w | trim }}|{{ w.strip() }}|{{ w.lstrip() }}|{{ w.rstrip() }}|{{ 'xxaxx' | trim('x') }}|{{ 'xyaxy'.strip('yx') }}|{{ 'aab'.lstrip('a') }}
{{ t | length }} {{ l | length }} {{ d | length }} {{ l | count }} {{ missing | length }} {{ '' | length }}
{{ d | tojson }} {{ esc | tojson }} {{ html | tojson }} {{ none | tojson }} {{ 1.0 | tojson }} {{ (1, 2) | tojson }} {{ {} | tojson }} {{ [] | tojson }} {{ t | tojson(ensure_ascii=true) }} {{ esc | tojson(true) }}
{{ d | tojson(indent=2) }} {{ [] | tojson(indent=2) }} {{ {'a': {}} | tojson(indent=4) }} {{ d | tojson(separators=(',', ':')) }} {{ {'b': 1, 'a': {'d': 1, 'c': 2}} | tojson(sort_keys=true) }} {{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }} {{ [1, [2]] | tojson(indent='--') }}
{{ l | join }} {{ l | join(', ') }} {{ m | join('-', attribute='role') }} {{ t | join('.') }} {{ ', '.join(['a', 'b']) }} {{ [1, none, 2.0] | join('/') }}
{{ missing | default('d') }} {{ none | default('d') }} {{ none | default('d', true) }} {{ '' | d('e', boolean=true) }} {{ missing | default }}|
{% for k, v in d | items %}{{ k }}={{ v }};{% endfor %}{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for v in d.values() %}{{ v }}{% endfor %}
{{ 'aBc' | upper }} {{ 'aBc' | lower }} {{ 'aBC dE' | capitalize }} {{ 'x'.upper() }} {{ 'X'.lower() }} {{ 5 | upper }} {{ 'aB'.capitalize() }}
{{ t | replace('l', 'L') }} {{ t.replace('l', 'L', 1) }} {{ t | replace('l', '', 2) }} {{ 'abc' | replace('', '-') }} {{ 'aaa' | replace('aa', 'b') }}
{{ l | sort }} {{ l | sort(reverse=true) }} {{ names | sort }} {{ names | sort(case_sensitive=true) }} {{ m[:2] | sort(attribute='n') | map(attribute='n') | list }} {{ names | unique | list }} {{ l | min }} {{ l | max }} {{ l | sum }} {{ d | dictsort | length }} {{ {'b': 1, 'A': 2} | dictsort }} {{ {'b': 1, 'A': 2} | dictsort(by='value') }} {{ [] | min }}|
{{ m | selectattr('role', 'equalto', 'user') | map(attribute='content') | join(',') }} {{ m | rejectattr('role', '==', 'user') | list | length }} {{ m | selectattr('n') | list | length }} {{ l | select('odd') | list }} {{ l | reject('>', 1) | list }} {{ names | map('upper') | list }} {{ m | map(attribute='n', default=0) | list }} {{ [0, 1] | select | list }} {{ m | selectattr('n', 'defined') | list | length }}
{{ l | first }} {{ l | last }} {{ t | first }} {{ t | last }} {{ empty | first }}| {{ l | reverse | list }} {{ 'abc' | reverse }} {{ l | list }} {{ 'ab' | list }} {{ d | list }}
{{ '12' | int }} {{ 'x' | int }} {{ '3.9' | int }} {{ 'x' | int(5) }} {{ 2.9 | int }} {{ '1.5' | float }} {{ 'x' | float }} {{ -3 | abs }} {{ (-3) | abs }} {{ true | int }} {{ ' 4 ' | int }}
{{ 'a b  c'.split() }} {{ 'a,b,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ ' a b c '.split(none, 1) }} {{ 'abc'.split('x') }} {{ 'a,b,c'.rsplit(',', 1) }} {{ 'a\\nb\\r\\nc'.splitlines() }} {{ 'a<t>b<t>c'.split('<t>')[-1] }} {{ ''.split() }} {{ ''.split('a') }}
{{ t.startswith('Hell') }} {{ t.endswith('x') }} {{ t.startswith(('x', 'H')) }} {{ t.find('W') }} {{ t.find('q') }} {{ t.count('l') }} {{ '12'.isdigit() }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('bc') }}
{{ d.get('b') }} {{ d.get('q') }} {{ d.get('q', 5) }} {{ d.keys() | list }} {{ l.index(2) }} {{ l.count(1) }}
{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a', 'b') }}{{ loop.depth }}{{ loop.changed(x > 1) }};{% endfor %}
{% for x in empty %}x{% else %}none{% endfor %} {% for x in l if x > 1 %}{{ x }}{{ loop.index }}{% else %}no{% endfor %} {% for a, b in [(1, 2), (3, 4)] %}{{ a + b }}{% endfor %} {% for (a, b), c in [((1, 2), 3)] %}{{ a + b + c }}{% endfor %}
{% for x in range(5) %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %} {{ range(3) | list }} {{ range(2, 8, 3) | list }} {{ range(3, 0, -1) | list }} {{ range(4)[1:3] | list }}
{% for x in l %}{% for y in l %}{{ loop.depth }}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %} {% for x in missing %}a{% else %}b{% endfor %} {% for c in 'ab' %}{{ c }}.{% endfor %}
{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 5 %}{% endif %}{{ x }}{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}
{% set ns = namespace(a=1) %}{% for i in l %}{% set ns.a = ns.a + i %}{% set ns.b = i %}{% endfor %}{{ ns.a }} {{ ns.b }} {{ ns['a'] }} {{ ns.q is defined }}{% set e = namespace({'z': 3}, y=1) %}{{ e.z + e.y }}
{% macro f(a, b=2, c=a) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ f(1) }}{{ f(1, 5) }}{{ f(b=7, a=1) }}{{ f() }}{% set g = f(9) %}{{ g | length }}{{ f(1) is string }}
{% macro down(k) %}{{ k }}{% if k > 0 %}{{ down(k - 1) }}{% endif %}{% endmacro %}{{ down(5) }}{% set late = 1 %}{% macro use() %}{{ late }}{% endmacro %}{% set late = 2 %}{{ use() }}
{% set x %}a {{ n }} b{% endset %}{{ x }}{{ x | length }}{% set y | upper %}abc{% endset %}{{ y }}{% filter upper | replace('A', 'b') %}aac{{ 'x' }}{% endfilter %}{% with q = 5, r = 6 %}{{ q + r }}{% endwith %}{{ q }}
{% set a = 1 %}{% with a = 2, b = a, c = [a] %}{{ a }}{{ b }}{{ c }}{% set a = 3 %}{{ a }}{% endwith %}{{ a }}{% with %}{% set a = 9 %}{{ a }}{% endwith %}{{ a }}{{ b is defined }}
{% set a = 1 %}{% for a in [a, a + 1] %}{{ a }}{% endfor %}{{ a }}{% macro h(x, y=a, a=x) %}{{ x }}{{ y }}{{ a }}{% endmacro %}{{ h(3) }}{{ h(3, 4) }}{{ h(3, 4, 5) }}{{ a }}{% for x in [1, 2] if x > a %}{{ x }}{% endfor %}
{% raw %}{{ x }} {% if %}{% endraw %} {# comment {{ x }} #}done
a  {%- if true -%}  b  {%- endif -%}  c {{- ' d ' -}} e
{{ '\\n\\t\\\\ \\' \\x41 \\u00e9 \\101 \\q \\é' }}{{ "it's" 'joined' }}
{{ html | safe }} {{ html | e }} {{ (html | safe) + '<b>' }} {{ html | safe ~ '<b>' }} {{ html | string }} {{ '<' | safe | length }} {{ html | escape | safe }}
{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent(width='>', blank=true) }}|{{ 'a\n' | indent }}|
{{ strftime_now('%d %b %Y') }} {{ strftime_now('%Y-%m-%d') }} {{ strftime_now('%A %-d %B %j %H:%M') }}
{% generation %}x{% set hidden = 1 %}{% endgeneration %}{{ hidden }}|{% for i in l %}{% generation %}{{ loop.index }}{{ i }}{% endgeneration %}{% endfor %}
{{ ['it\\'s', "q\\"", 'a\\nb', 'é你', (1,), {}, none] }} {{ {'a': missing} }} {{ (1, 2) }} {{ () }} {{ [[]] }}
{{ dict(a=1, b=2) }} {{ {'a': 1}.a }} {{ {1: 'x', 'k': 'y'}[1] }} {{ {'a': 1, 'a': 2} }} {{ (1, 2)[0] }} {{ [1, 2, 3][n - 5] }}
{{ m | map(attribute='role') | unique | join(' ') }} {{ (m | last).content }} {{ (m | selectattr('role', 'eq', 'user') | list)[-1].content }} {{ 'T' if m | selectattr('role', 'eq', 'q') else 'F' }}
{{ namespace is defined }} {{ raise_exception is defined }} {{ strftime_now is defined }} {{ loop is defined }} {{ range is callable }}
{%- set x = {'k': [1, 2]} -%}{{ x.k[1] }}{{ x['k'] | last }}{% if x.k and 2 in x.k %}in{% elif true %}e{% else %}f{% endif %}
{% if none %}a{% elif n == 7 %}b{% else %}c{% endif %}{% if missing %}m{% endif %}{% if l and not empty %}k{% endif %}{% if (n, 1) %}t{% endif %}
{{ 10 - 2 - 3 }} {{ 2 + 3 * 4 }} {{ (2 + 3) * 4 }} {{ 'a' ~ 1 + 2 }} {{ -n | abs }} {{ not n == 7 }} {{ n is odd and f is float }} {{ 1 if n > 3 else 2 + 1 }} {{ -l[0] }}
{{ m[0]['role'] == 'user' and (m[1].role == 'assistant' or false) }} {{ t is string and t | length > 3 }} {{ d.a is iterable and d.a is not string and d.a is not mapping }}
{{ 3.0 | int }} {{ 1e3 | int }} {{ 5 | string + 'x' }} {{ 5 | float }} {{ true + 1 }} {{ 1.5 | string }} {{ 100000000000000000 * 10 }}"""

SPANNING = ["""  {% if true %}
  x
    {% endif %}
  y {% if true %} z {% endif %}
  {%+ if true %}k{% endif +%}
  {{ n }}
  {#- c -#}  q {# d #}
  r{# e #}""", """{% for x in l -%}
  {{ x }}
{%- endfor %}

""", "{{ 'a\\\nb' }}", "a\r\n{% if n %}\r\nb\rc{% endif %}\r\n", "\n  {% set x = 1 %}\n\n{{ x }}\n\n", "{% raw %}\n  a\n  {% endraw %}\n b",
            "{% raw -%}\n  a\n  {%- endraw %}\n b", "x {# a\nb #}\n  {# c #}\ny{#- d +#}\nz", "{{ 1 }}\n{{ 2 }}\n", "\t {%- set y = 2 %}\n\u00a0{{- y }}"]

ERRORS = """\
{{ missing.x }}
{{ missing['x'] }}
{{ missing + 1 }}
{{ missing() }}
{{ 'a' + 1 }}
{{ none + 'a' }}
{{ raise_exception('Roles must alternate') }}
{{ n.x.y }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ none | length }}
{{ 'x' in none }}
{{ 1 in 5 }}
{% for x in none %}{% endfor %}
{% for x in 5 %}{% endfor %}
{% for a, b in [(1, 2, 3)] %}{% endfor %}
{{ l.append(4) }}
{{ d.update({}) }}
{{ d.pop('b') }}
{% set n.x = 1 %}
{{ missing | tojson }}
{{ l | map('upper') | length }}
{{ {}[[]] + 1 }}
{{ {[]: 1} }}
{{ 'a' < 1 }}
{{ [1] < 2 }}
{{ d.items()[0].x }}
{{ t.split('') }}
{{ t.nothing() }}
{{ l | nofilter }}
{{ l is notest }}
{{ range(100001) | length }}
{{ range(1, 2, 0) }}
{% if %}{% endif %}
{% if n %}
{% for x in %}{% endfor %}
{% endfor %}
{% break %}
{% unknown %}
{{ n
{{ (n }}
{{ n) }}
{{ 'abc }}
{{ [1, 2 }}
{{ }}
{{ a b }}
{# open
{% raw %}x
{{ 1 + }}
{{ n is }}
{{ n | }}
{{ n. }}
{% set 1 = 2 %}
{% set none = 2 %}
{% macro f(a %}{% endmacro %}
{% macro f(a=1, b) %}{% endmacro %}{{ f(1) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, a=2) }}
{{ t | replace('a') }}
{{ 08 }}
{{ '\\x4' }}
{{ l[0:1:0] }}
{{ n[1:] }}
{{ -t }}
{{ [].index(1) }}
{% for x in l %}{% macro g() %}{% break %}{% endmacro %}{% endfor %}
{{ f(1, x=2, 3) }}
{{ n is odd is even }}
{{ $ }}
{{ t | join(5, 6, 7) }}
{{ m | selectattr('role', 'nosuch') | list }}
{% do l.append(1) %}"""


# Every argument of every filter, test and method at two values and at its bounds, by place and by name.
ARGUMENTS = """\
{'b': 1, 'A': 2, 'c': 0} | dictsort
{'b': 1, 'A': 2, 'B': 0} | dictsort(true)
{'b': 1, 'A': 2, 'B': 0} | dictsort(false)
{'b': 1, 'A': 2, 'c': 0} | dictsort(false, 'value')
{'b': 1, 'A': 2, 'c': 0} | dictsort(true, 'key')
{'b': 'y', 'A': 'Z', 'c': 'x'} | dictsort(true, 'value')
{'b': 'y', 'A': 'Z', 'c': 'x'} | dictsort(false, 'value')
{'b': 1, 'A': 2, 'c': 0} | dictsort(false, 'key', true)
{'b': 1, 'A': 2, 'c': 0} | dictsort(reverse=true)
{'b': 1, 'A': 2, 'c': 0} | dictsort(by='value', reverse=true)
{'b': 1, 'A': 2, 'B': 0} | dictsort(case_sensitive=true, reverse=true)
{'b': 1, 'A': 2} | dictsort(by='other')
{} | dictsort
'  a b  c d '.split(none, 0)
'  a b  c d '.split(none, 1)
'  a b  c d '.split(none, 2)
'  a b  c d '.split(none, 3)
'  a b  c d '.split(none, 9)
'  a b  c d '.split(none, -1)
'  '.split(none, 0)
''.split(none, 0)
'a,b,,c'.split(',', 0)
'a,b,,c'.split(',', 2)
'a,b,,c'.split(',', 3)
'a,b,,c'.split(',', -1)
'a,b,,c'.split(',', 99)
'a,b,c'.split(sep=',', maxsplit=1)
' a b c'.split(maxsplit=1)
'a<>b<>c'.split('<>', 1)
'  a b  c d '.rsplit(none, -1)
'a,b,,c'.rsplit(',', 0)
'a,b,,c'.rsplit(',', 1)
'a,b,,c'.rsplit(',', 2)
'a,b,,c'.rsplit(',', -1)
'a,b,c'.rsplit(sep=',', maxsplit=1)
' a b '.rsplit()
'aaaa'.replace('a', 'b', 0)
'aaaa'.replace('a', 'b', 1)
'aaaa'.replace('a', 'b', 4)
'aaaa'.replace('a', 'b', 5)
'aaaa'.replace('a', 'b', -1)
'aaaa'.replace('', 'b', 2)
'aaaa'.replace('', 'b', 0)
'aaaa' | replace('a', 'b', 0)
'aaaa' | replace('a', 'b', 3)
'aaaa' | replace('a', 'b', none)
'aaaa' | replace('a', 'b', count=2)
'aaaa' | replace(old='a', new='b')
'xaxbx'.strip('x')
'xaxbx'.strip('')
'xaxbx'.strip(none)
'xaxbx'.lstrip('ax')
'xaxbx'.lstrip(none)
'xaxbx'.rstrip('bx')
'xaxbx'.rstrip('')
'xaxbx' | trim('bx')
'xaxbx' | trim(chars='x')
' x ' | trim(none)
'abcabc'.find('c')
'abcabc'.find('')
'abcabc'.find('abcabcd')
'abcabc'.count('bc')
'abcabc'.count('')
'aaa'.count('aa')
'abc'.startswith('')
'abc'.startswith('abcd')
'abc'.startswith('abc')
'abc'.startswith(())
'abc'.endswith('')
'abc'.endswith(('b', 'bc'))
'abc'.endswith('abc')
'abc'.removeprefix('')
'abc'.removeprefix('abc')
'abc'.removeprefix('abcd')
'abc'.removesuffix('')
'abc'.removesuffix('abc')
'abc'.removesuffix('b')
''.isdigit()
'1a'.isdigit()
'a\\nb\\n' | indent(0)
'a\\nb' | indent(1)
'a\\n\\nb' | indent(2, false)
'a\\n\\nb' | indent(2, true)
'a\\n\\nb' | indent(2, false, true)
'a\\n\\nb' | indent(2, true, true)
'a\\n\\nb' | indent('>>', true)
'a\\nb' | indent(width=3, first=true)
'a\\nb' | indent('')
l | join('')
l | join(d='+')
l | join(0)
m | join(',', 'role')
m | join(attribute='n')
d.a[5] | tojson(indent=0)
d | tojson(indent=1)
d | tojson(false, 3)
d | tojson(true, none)
d | tojson(indent=none)
d | tojson(separators=(', ', '='))
d | tojson(separators=('', ''))
{'b': 1, 'a': 2} | tojson(sort_keys=false)
{'b': 1, 'a': 2} | tojson(false, none, none, true)
'\u00fc' | tojson(ensure_ascii=false)
'\u00fc' | tojson(ensure_ascii=true)
missing | default('x', false)
'' | default('x', false)
'' | default('x', true)
0 | default(5, true)
0 | default(5)
false | d(default_value='y', boolean=true)
none | d('z', boolean=false)
'x' | int(7)
'x' | int(default=-1)
'ff' | int(3, 10)
none | int(4)
'1e3' | int
'-12' | int
'x' | float(1.5)
'x' | float(default=2)
none | float(3)
'-1e2' | float
'inf' | float
' -Infinity ' | float
'NAN' | float
'infi' | float
'inf' | int
l | sort(false)
l | sort(true)
names | sort(true)
names | sort(false, true)
names | sort(true, true)
names | sort(false, false)
names | sort(reverse=false, case_sensitive=false)
m[:2] | sort(false, false, 'n') | map(attribute='n') | list
m[:2] | sort(true, attribute='n') | map(attribute='n') | list
names | unique(true) | list
names | unique(false) | list
m | unique(attribute='role') | map(attribute='content') | list
names | min
names | max
names | min(true)
names | max(true)
names | min(case_sensitive=false)
m[:2] | min(attribute='n')
m[:2] | max(attribute='n')
[] | max
l | sum(start=10)
m[:2] | sum('n')
m[:2] | sum('n', 5)
m[:2] | sum(attribute='n', start=0)
[] | sum
m | map(attribute='n', default='none') | list
m | map(attribute='role') | list
names | map('replace', 'b', 'X') | list
names | map('default', 'x') | list
l | map('string') | join
m | selectattr('n', 'gt', 1) | map(attribute='content') | list
m | selectattr('n', 'defined') | map(attribute='content') | list
m | rejectattr('n', 'defined') | map(attribute='content') | list
m | rejectattr('n') | map(attribute='content') | list
m | rejectattr('role', 'in', ['user', 'x']) | map(attribute='content') | list
l | select | list
[0, 1, '', 'a', none] | reject | list
l | select('gt', 1) | list
l | select('divisibleby', 3) | list
l | reject('in', [1, 2]) | list
-3 | abs
0 | abs
-2.5 | abs
d.get('b', 9)
d.get('nosuch', 9)
d.get('nosuch', none)
l.index(3)
l.index(9)
l.count(9)
[1, 1.0, true].count(1)
{'a': 1}.copy()
[1, 2].copy()
6 is divisibleby 4
6 is divisibleby(3)
0 is divisibleby 5
6 is divisibleby 0
6 is eq 6
6 is eq 7
6 is ne 6
6 is ne 7
6 is ge 6
6 is ge 7
6 is gt 6
6 is gt 5
6 is le 6
6 is le 5
6 is lt 6
6 is lt 7
6 is in [6]
6 is in [5]
'b' is in 'abc'
0 is even
0 is odd
-1 is odd
-1 is even
'' is lower
'a1' is lower
'aB' is lower
'' is upper
'A1' is upper
1 is integer
true is integer
1.0 is integer
1 is float
1.0 is number
none is none
0 is none
0 is false
false is false
1 is true
[] is sequence
{} is sequence
5 is sequence
'' is iterable
5 is iterable
none is iterable
{} is mapping
[] is mapping
missing is undefined
none is undefined
d.nosuch is undefined
range is callable
5 is callable
range(0) | list
range(1) | list
range(2, 2) | list
range(2, 3) | list
range(5, 1) | list
range(5, 1, -2) | list
range(1, 6, 5) | list
range(1, 7, 5) | list
l[0:0]
l[0:1]
l[3:]
l[-3:]
l[-4:]
l[:-3]
l[:3]
l[2::-1]
l[::3]
t[0]
t[-1]
t[11]
t[12]
t[-12]
'abc' | first
'' | first
'' | last
[] | last
'' | reverse
'ab cd' | capitalize
'' | capitalize
'<&>"' | e
'<&>' | safe | e
strftime_now('%y %m %H %%')
dict()
namespace().x is defined
{1: 2} == {1: 2}
{1: 2} == {1: 3}
{1: 2} == {2: 2}
{'a': 1} == {'a': 1, 'b': 2}
{'a': 1, 'b': 2} == {'b': 2, 'a': 1}
{} != {}
[{'a': [1]}] == [{'a': [1.0]}]
0.0 or 'zero'
0.5 and 'half'
[1.5, 2] | sum
[1, 2] | sum(start=0.5)
[] | sum
[1] < [1, 2]
[1, 2] < [1]
[1, 2] <= [1, 2]
[1, 2] < [1, 2]
(1,) < (1, 0)
[2] > [1, 9]
1 <= 1
1 < 1
1 >= 1
1 > 1
2 >= 1.5
'a' <= 'a'
'a' >= 'b'
{(1, 2): 3}[(1, 2)]
{(1, [2]): 3}
{((1, 2), 'a'): 3} | length
[1, 3, 3.0] | max
[3, 1, 1.0] | min
['b', 'B'] | min
['b', 'B'] | max
-5 // -1
-5 % -1
5 // -1
7 // -2
7 % -2
-7.5 // 2
7.5 % -2
7.5 // -2.5
-0.0 % 5
0 ** 0
7 ** 1
2 ** 62
999999999999999999
-999999999999999999
999999999999999999 * 9 + 223372036854775816
-999999999999999999 * 9 - 223372036854775817
range(0, -5, -1) | list
range(-3) | list
range(100000) | length
range(100001) | length
range(5, 5, -1) | list
true + 1
true < 2
[true] == [1]
1.0 in [1]
{1: 'a'}[1.0]
{true: 'b'}[1]
'-3' | int
'+4' | int
'999999999999999999' | int
[999999999999999999 * 9, 223372036854775816] | sum
-1.5 | int
'1e3' | int
'1e3' | float
'abc'.find('')
'abc'.count('')
'a b c'.split(' ', 0)
'aXbXc'.split('X', 2)
'aXbXc'.split('X', 9)
'aXbXc'.rsplit('X', 2)
'aXbXc'.rsplit('X', 0)
'a,b'.split(',', -1)
'abc'[1:2]
'abc'[-1:]
'é你a'[1]
'é你a'[-2:]
'é你a' | length
'é你a' | reverse
'é你a'.find('a')
'\\u4f60\\U0001f600\\uffff\\u0800\\u07ff\\x7f\\u0080'
'\\U0010ffff' | length
{'a': 1} | tojson(indent=0)
[1, {'a': []}] | tojson(indent=1)
'a\\nb' | indent(0)
[[1, 'a'], (2,)] | tojson
'aa' | replace('a', 'b', 0)
'aaa'.replace('a', 'b', 2)
'abc'.replace('', '-', 2)
'ab'.split('b')
'a.b.c' | replace('.', '') | upper
[1, 2] is sequence and {} is mapping
2.5 is number and 2.5 is not integer
' a ' | trim | length
[[1, 2], [3]] | map('length') | list
[[2, 1], [3]] | map('first') | list
['a', 'B'] | sort | first
[(2, 'a'), (1, 'b')] | sort | list
[3, 1, 2] | sort(reverse=true) | last
[] | sort
{'b': 1, 'a': 1} | dictsort(by='value')
{'b': 1, 'a': 2} | dictsort(reverse=true)
[1, 1.0, true, 2] | unique | list
dict({'a': 1}, b=2)
dict(a=1, b=2) == {'b': 2, 'a': 1}
namespace({'a': 1}, a=2).a
['a', none] | tojson
{'k': none} | tojson(indent=2)
loop is defined"""


def run(template, variables):
    try:
        return {"text": env.from_string(template).render(**variables)}
    except Exception as error:  # Python's own too: TypeError, ZeroDivisionError …
        return {"error": f"{type(error).__name__}: {error}"}


def messages(turns, system, open_):
    said = [{"role": "user" if i % 2 == 0 else "assistant", "content": text} for i, text in enumerate(SAID[:2 * turns - open_])]
    return ([{"role": "system", "content": "Be brief & kind."}] if system else []) + said


def conversation(name, template, given, tokens):
    """What the user gives, and the model's tokens; transformers passes tools and documents as None where none are given."""
    return {"name": name, "variables": given, "config": tokens, **run(template, {"tools": None, "documents": None, **tokens, **given})}


def conversations(name, template):
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    for turns in range(1, 6):
        for system in (False, True):
            for opened in (True, False):
                said = messages(turns, system, opened and turns <= 5 or turns == 5)
                given = {"messages": said, "add_generation_prompt": opened}
                label = f"{name}, {turns} turns{', system' * system}{', open' * opened}"
                yield {"file": name, "turns": turns if opened else 0, **conversation(label, template, given, tokens)}
    call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 2}}}]}
    said = messages(1, True, True) + [call, {"role": "tool", "content": "4"}]
    given = {"messages": said, "tools": TOOLS, "add_generation_prompt": True}
    yield {"file": name, "turns": 0, **conversation(f"{name}, tools", template, given, tokens)}
    given = {"messages": messages(1, False, True), "add_generation_prompt": True, "enable_thinking": False}
    yield {"file": name, "turns": 0, **conversation(f"{name}, no tokens", template, given, {})}
    white = [{"role": r, "content": f" \n {c}\n\n "} for r, c in (("user", "u"), ("assistant", "a"), ("user", "v"))]
    given = {"messages": white, "add_generation_prompt": True}
    yield {"file": name, "turns": 0, **conversation(f"{name}, white", template, given, tokens)}


def main():
    cases = []
    for path in sorted(glob.glob(os.path.join(HERE, "templates", "*.jinja"))):
        if os.path.basename(path) == "parts.jinja":
            continue  # its contents are lists of parts
        with open(path, encoding="utf-8", newline="") as f:
            cases += conversations(os.path.basename(path), f.read())
    for text in SNIPPETS.split("\n") + SPANNING + ERRORS.split("\n") + ["{{ " + line + " }}" for line in ARGUMENTS.split("\n")]:
        cases.append({"name": text.split("\n")[0], "template": text, "variables": DATA, **run(text, DATA)})
    versions = f"jinja2 {jinja2.__version__}, markupsafe {importlib.metadata.version('markupsafe')}, Python {platform.python_version()}"
    for case in cases:
        if case["variables"] is DATA:
            del case["variables"]
    print(json.dumps({"versions": versions, "date": DATE, "data": DATA, "cases": cases}, ensure_ascii=True, indent=0))
    print(f"{len(cases)} cases, {sum('error' in c for c in cases)} of them errors; {versions}", file=sys.stderr)


main()
