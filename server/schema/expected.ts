import { Kind, type TSchema } from '@sinclair/typebox';
import { EACH, EXPECTED, PUBLISHED, QUERY_KIND } from './kinds.ts';

/** How many of a choice's values a message lists. */
const CHOICES_MAX = 24;

/** A range of numbers and, after them, what they count: one of it, or several. */
function rangeOf(min: number | undefined, max: number | undefined, one = '', several = one): string {
  const what = (max ?? min) === 1 ? one : several;
  if (min !== undefined && max !== undefined) {
    return min === max ? `${min}${what}` : `${min} to ${max}${what}`;
  }
  return max === undefined ? `at least ${min}${what}` : `at most ${max}${what}`;
}

/** The limits of a schema as they are published, which is where a format says them. */
function limitOf(schema: TSchema, name: string): number | undefined {
  const limit: unknown = schema[PUBLISHED]?.[name] ?? schema[name];
  return typeof limit === 'number' ? limit : undefined;
}

function textExpected(schema: TSchema): string {
  const min = limitOf(schema, 'minLength');
  const max = limitOf(schema, 'maxLength');
  if (min === undefined && max === undefined) {
    return 'must be a text';
  }
  return `must be a text of ${rangeOf(min, max, ' character', ' characters')}`;
}

function integerExpected(schema: TSchema): string {
  const min = limitOf(schema, 'minimum');
  const max = limitOf(schema, 'maximum');
  return min === undefined && max === undefined
    ? 'must be an integer'
    : `must be an integer of ${rangeOf(min, max)}`;
}

function listExpected(schema: TSchema): string {
  const min = limitOf(schema, 'minItems');
  const max = limitOf(schema, 'maxItems');
  const entries =
    min === undefined && max === undefined ? '' : ` of ${rangeOf(min, max, ' entry', ' entries')}`;
  const list = `must be a list${entries}`;
  // Entries that are checked one by one have messages of their own.
  return schema[EACH] === undefined ? `${list}, each of which ${expectedOf(schema['items'])}` : list;
}

function choiceExpected(options: readonly TSchema[]): string {
  const values = options.map((option) => option['const']);
  if (values.length > CHOICES_MAX || !values.every((value) => typeof value === 'string')) {
    return [...new Set(options.map(expectedOf))].join(' or ');
  }
  return `must be one of ${values.map((value) => `\`${value}\``).join(', ')}`;
}

function objectExpected(schema: TSchema): string {
  const min = limitOf(schema, 'minProperties');
  const max = limitOf(schema, 'maxProperties');
  return min === undefined && max === undefined
    ? 'must be an object'
    : `must be an object with ${rangeOf(min, max, ' member', ' members')}`;
}

/** What a value must be to fit a schema, as the rest of a sentence about it: `must be an integer of 1 to 16`. */
export function expectedOf(schema: TSchema): string {
  const said = schema[EXPECTED];
  if (said !== undefined) {
    return said;
  }
  if (schema[QUERY_KIND] === 'limit') {
    return 'must be an integer other than 0';
  }
  if (schema[QUERY_KIND] === 'filter-time') {
    return 'must be a time as in RFC 3339, such as `2026-01-31T12:00:00Z`';
  }
  if (schema[QUERY_KIND] === 'pairs') {
    return 'must be `name:text`';
  }
  switch (schema[QUERY_KIND] === 'list' ? 'Array' : schema[Kind]) {
    case 'Array':
      return listExpected(schema);
    case 'Boolean':
      return 'must be `true` or `false`';
    case 'Integer':
      return integerExpected(schema);
    case 'Literal':
      return `must be \`${schema['const']}\``;
    case 'Null':
      return 'must be null';
    case 'Object':
    case 'Record':
      return objectExpected(schema);
    case 'String':
      return textExpected(schema);
    case 'Union':
      return choiceExpected(schema['anyOf']);
    default:
      return 'must be as the API reference says';
  }
}
