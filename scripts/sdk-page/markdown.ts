/** The pieces of Markdown that the reference of the SDK is made of. */
import type ts from 'typescript';
import type { Member, Signature, Source } from './source.ts';
import { anchorOf } from './type-text.ts';

/** Text of a cell: a bar would end it. */
const cell = (text: string): string => text.replaceAll('|', '\\|');

/** A table; bars in its cells are escaped. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

export const example = (code: string): string => `\`\`\`ts\n${code}\n\`\`\``;

export const linkTo = (heading: string): string => `[\`${heading}\`](#${anchorOf(heading)})`;

/** What a caller gives; what is needed comes first. */
export const optionsTable = (members: readonly Member[]): string =>
  table(
    ['Option', 'Type', 'Required', 'What it is'],
    members
      .toSorted((a, b) => Number(b.required) - Number(a.required))
      .map(({ name, type, required, text }) => [`\`${name}\``, type, required ? 'yes' : '', text]),
  );

/** What a caller gets; `?` marks what may be missing. */
export const membersTable = (members: readonly Member[]): string =>
  table(
    ['Member', 'Type', 'What it is'],
    members.map(({ name, type, required, text }) => [`\`${name}${required ? '' : '?'}\``, type, text]),
  );

/** What a call gives, in one sentence. */
export const returnsText = (source: Source, signatures: readonly Signature[]): string => {
  const texts = signatures.map(({ returns, written }) => {
    const [promised] = source.argumentsOf(returns, 'Promise') ?? [];
    const [yielded] = source.argumentsOf(returns, 'AsyncGenerator') ?? [];
    return [
      yielded === undefined ? 'Returns' : 'Yields',
      shapeText(source, promised ?? yielded ?? returns, written),
    ];
  });
  return `**${texts[0]?.[0]}** ${texts.map(([, text]) => text).join('; or ')}.`;
};

const shapeText = (source: Source, type: ts.Type, written: string): string => {
  const [data] = source.argumentsOf(type, 'Page') ?? [];
  if (data !== undefined) {
    return `a ${linkTo('Page')} whose \`data\` is ${shapeText(source, data, written)}`;
  }
  const entry = source.entryOf(type);
  if (entry !== undefined) {
    return `a list of ${shapeText(source, entry, written)}`;
  }
  if (source.nameOf(type) === undefined && type.isUnion()) {
    const names = [...source.exports.keys()].filter((name) => new RegExp(`\\b${name}\\b`).test(written));
    return `${names.map(linkTo).join(', ')}, as \`${/^Promise<(.*)>$/.exec(written)?.[1] ?? written}\``;
  }
  const shown = source.linked([type]);
  const members = source.nameOf(type) === undefined ? [] : source.membersOf(type);
  const names = members.filter(({ name }) => !name.includes('.'));
  return names.length === 0
    ? shown
    : `${shown}: ${names.map(({ name, required }) => `\`${name}${required ? '' : '?'}\``).join(', ')}`;
};
