/**
 * The chart of deploy/helm as documents, without helm: renders the part of its language that the templates use, and
 * refuses everything else.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { YAML } from 'bun';

const CHART = join(import.meta.dir, '../../deploy/helm');

/** A tree of values, or one of its leaves. */
export type Value = null | string | number | boolean | readonly Value[] | { readonly [name: string]: Value };

/** An action of a template, or the text between two. */
type Part = { readonly kind: 'text' | 'action'; readonly text: string };

type Names = Readonly<Record<string, Value>>;

/** A document of Kubernetes. */
export type Document = Names;

/** A file of the chart as text. */
export function readChartFile(name: string): string {
  return readFileSync(join(CHART, name), 'utf8');
}

/** The parts of a template; a hyphen in an action has taken the white space beside it. */
function partsOf(template: string): readonly Part[] {
  const trimmed = template.replaceAll(/\s*\{\{-/g, '{{').replaceAll(/-\}\}\s*/g, '}}');
  return trimmed
    .split(/(\{\{.*?\}\})/s)
    .filter((text) => text !== '')
    .map((text) =>
      text.startsWith('{{') ? { kind: 'action', text: text.slice(2, -2).trim() } : { kind: 'text', text },
    );
}

function isTrue(value: Value): boolean {
  return typeof value === 'object' ? Object.keys(value ?? {}).length > 0 : Boolean(value);
}

function lookUp(term: string, names: Names): Value {
  const [, file] = /^\.Files\.Get "([^"]+)"$/.exec(term) ?? [];
  if (file !== undefined) {
    return readChartFile(file);
  }
  const [first = '', ...path] = term.replace(/^\.Values\b/, '$values').split('.');
  let value: Value | undefined = names[first];
  for (const name of path) {
    value = Object(value)[name];
  }
  if (value === undefined) {
    throw new Error(`the chart has no value ${term}`);
  }
  return value;
}

function apply(call: string, value: Value): Value {
  const [name, argument] = call.trim().split(/\s+/);
  switch (name) {
    case 'quote':
      return JSON.stringify(String(value));
    case 'sha256sum':
      return createHash('sha256').update(String(value)).digest('hex');
    case 'nindent':
      return `\n${String(value).replaceAll(/^/gm, ' '.repeat(Number(argument)))}`;
    default:
      throw new Error(`unknown function: ${call}`);
  }
}

function evaluate(pipeline: string, names: Names): string {
  const [term = '', ...calls] = pipeline.split(' | ');
  const yaml = term.startsWith('toYaml ');
  const value = lookUp(yaml ? term.slice(7) : term, names);
  const text = yaml ? YAML.stringify(value, null, 2) : value;
  return String(calls.reduce((so, call) => apply(call, so), text));
}

/** Renders parts from a place on, to the `end` or `else` that closes them, whose place it gives with the text. */
function render(parts: readonly Part[], from: number, names: Names): readonly [text: string, end: number] {
  let text = '';
  for (let at = from; at < parts.length; at++) {
    const part = parts[at] ?? { kind: 'text', text: '' };
    const [, word, rest = ''] = /^(if|range|else|end)\b *(.*)$/s.exec(part.text) ?? [];
    if (part.kind === 'text') {
      text += part.text;
    } else if (word === 'end' || word === 'else') {
      return [text, at];
    } else if (word !== undefined) {
      const [inner, end] = renderBlock(parts, at, word, rest, names);
      text += inner;
      at = end;
    } else if (!part.text.startsWith('/*')) {
      text += evaluate(part.text, names);
    }
  }
  return [text, parts.length];
}

/** Renders a block that begins at a place; gives the place of its `end`. */
function renderBlock(parts: readonly Part[], at: number, word: string, rest: string, names: Names) {
  if (word === 'range') {
    const [, key = '', item = '', term = ''] = /^(\$\w+), (\$\w+) := (\S+)$/.exec(rest) ?? [];
    const rounds = Object.entries<Value>(Object(lookUp(term, names)))
      .toSorted()
      .map(([name, value]) => render(parts, at + 1, { ...names, [key]: name, [item]: value })[0]);
    // Once more for the place of the end, with names that are only looked up.
    const [, end] = render(parts, at + 1, { ...names, [key]: '', [item]: '' });
    return [rounds.join(''), end] as const;
  }
  const [yes, middle] = render(parts, at + 1, names);
  const hasElse = parts[middle]?.text === 'else';
  const [no, end] = hasElse ? render(parts, middle + 1, names) : ['', middle];
  return [isTrue(lookUp(rest, names)) ? yes : no, end] as const;
}

/** What `values.yaml` has. */
export function chartValues(): Names {
  return YAML.parse(readChartFile('values.yaml')) as Names;
}

/** Documents of a YAML text, without empty ones. */
export function documentsOf(text: string): readonly Document[] {
  return [YAML.parse(text)].flat().filter((document) => document !== null) as Document[];
}

/** Documents by kind and name. */
export function byName(documents: readonly Document[]): Readonly<Record<string, Document>> {
  return Object.fromEntries(
    documents.map((document) => [`${document['kind']} ${Object(document['metadata']).name}`, document]),
  );
}

/** Every document that the chart makes of the values. */
export function renderChart(values: Names): readonly Document[] {
  return readdirSync(join(CHART, 'templates'))
    .toSorted()
    .flatMap((name) => {
      const [text] = render(partsOf(readChartFile(`templates/${name}`)), 0, { $values: values });
      return text.trim() === '' ? [] : documentsOf(text);
    });
}

interface Schema {
  readonly additionalProperties?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** What is wrong with values by their names: those that the schema does not allow, and objects that take any. */
export function valueFaults(
  values: Value,
  schema: Schema = JSON.parse(readChartFile('values.schema.json')),
  path = 'values',
): readonly string[] {
  const { properties, additionalProperties } = schema;
  if (properties === undefined) {
    return [];
  }
  const open = additionalProperties === false ? [] : [`${path} takes any name`];
  const faults = Object.entries<Value>(Object(values)).flatMap(([name, value]) => {
    const known = properties[name];
    return known === undefined
      ? [`${path}.${name} is not known`]
      : valueFaults(value, known, `${path}.${name}`);
  });
  return [...open, ...faults];
}
