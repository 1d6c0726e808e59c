/** Tables of what an operation takes and what it replies. */
import { breakable } from '../guide/markdown.ts';
import type { Content, Parameter } from './document.ts';
import { proseOf, tableOf } from './html.ts';
import { aboutOf, kindsOf, membersOf, type Schema, typeOf } from './schema.ts';

/** What tables say of members that must be there, and of those that can be missing. */
interface Marks {
  readonly required: string;
  readonly optional: string;
}
const ASKED: Marks = { required: '<br><b>required</b>', optional: '' };
const ANSWERED: Marks = { required: '', optional: '<br>optional' };

interface Row {
  readonly name: string;
  readonly type: string;
  readonly mark: string;
  readonly about: string;
}

function rowsHtml(label: string, rows: readonly Row[]): string {
  const cells = rows.map(({ name, type, mark, about }) => [
    `<code>${breakable(name)}</code>`,
    `<span class="type">${type}</span>${mark}`,
    proseOf(about),
  ]);
  return tableOf(label, ['Name', 'Type', 'Meaning'], cells);
}

/** The name that a parameter is only another name of. */
function aliasedBy({ description }: Parameter): string | undefined {
  return /^Alias of `(\S+)`\.$/.exec(description)?.[1];
}

/** What a parameter is, with its other names and an example. */
function parameterAbout(
  { name, description, schema, example }: Parameter,
  all: readonly Parameter[],
): string {
  const others = all.filter((other) => aliasedBy(other) === name);
  const names = others.map((other) => `\`${other.name}\``).join(', ');
  const isTold = example === undefined || schema.enum !== undefined || description.includes(`\`${example}\``);
  return [
    aboutOf({ ...schema, description }),
    isTold ? '' : `Such as \`${example}\`.`,
    names === '' ? '' : `Other names: ${names}.`,
  ]
    .filter((text) => text !== '')
    .join(' ');
}

/** The parameters of an operation; another name of one is told with it. */
export function parametersHtml(parameters: readonly Parameter[]): string {
  const rows = parameters
    .filter((parameter) => aliasedBy(parameter) === undefined)
    .map((parameter) => ({
      name: parameter.name,
      type: `${typeOf(parameter.schema)}, ${parameter.in}`,
      mark: parameter.required ? ASKED.required : ASKED.optional,
      about: parameterAbout(parameter, parameters),
    }));
  return rowsHtml('Parameters', rows);
}

/** Each kind that a body can be, with its members. */
function kindsHtml(label: string, schema: Schema, marks: Marks): string {
  const kinds = kindsOf(schema).map((kind) => {
    const rows = membersOf(kind).map(({ name, schema: member, isRequired }) => ({
      name,
      type: typeOf(member),
      mark: isRequired ? marks.required : marks.optional,
      about: aboutOf(member),
    }));
    return `${proseOf(kind.description ?? '')}${rowsHtml(label, rows)}`;
  });
  const whole = schema.anyOf === undefined ? '' : proseOf(schema.description ?? '');
  return `${whole}${kinds.join('<p>Or:</p>\n')}`;
}

/** What a request contains, or with `Reply` what comes back, by its content type. */
export function contentHtml(label: 'Body' | 'Reply', content: Content): string {
  return Object.entries(content)
    .map(([type, { schema }]) => {
      const named = type === 'application/json' ? '' : `<p><code>${type}</code></p>\n`;
      return `${named}${kindsHtml(label, schema, label === 'Body' ? ASKED : ANSWERED)}`;
    })
    .join('');
}
