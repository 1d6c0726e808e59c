import { Kind, type TSchema } from '@sinclair/typebox';
import { EACH, EXPECTED, PUBLISHED, QUERY_KIND } from './kinds.ts';

/** The most values of a choice that a message lists. */
const CHOICES_MAX = 24;

/** A limit as it is published, since a format may hide it. */
function limitOf(schema: TSchema, name: string): number | undefined {
  const limit: unknown = schema[PUBLISHED]?.[name] ?? schema[name];
  return typeof limit === 'number' ? limit : undefined;
}

/** The range between two limits with its unit, after a preposition; empty without limits. */
function rangeOf(
  schema: TSchema,
  [minName, maxName]: readonly [string, string],
  preposition: string,
  [one, several]: readonly [string, string] = ['', ''],
): string {
  const [min, max] = [limitOf(schema, minName), limitOf(schema, maxName)];
  if (min === undefined && max === undefined) {
    return '';
  }
  const range =
    max === undefined ? `at least ${min}` : min === undefined ? `at most ${max}` : `${min} to ${max}`;
  return ` ${preposition} ${min === max ? min : range}${(max ?? min) === 1 ? one : several}`;
}

function listExpected(schema: TSchema): string {
  const list = `must be a list${rangeOf(schema, ['minItems', 'maxItems'], 'of', [' entry', ' entries'])}`;
  // Entries that are checked one by one have separate messages.
  return schema[EACH] === undefined ? `${list}, each of which ${expectedOf(schema['items'])}` : list;
}

function choiceExpected(options: readonly TSchema[]): string {
  const values = options.map((option) => option['const']);
  if (values.length > CHOICES_MAX || !values.every((value) => typeof value === 'string')) {
    return [...new Set(options.map(expectedOf))].join(' or ');
  }
  return `must be one of ${values.map((value) => `\`${value}\``).join(', ')}`;
}

/** Requirement of a schema, as the rest of a sentence: `must be an integer of 1 to 16`. */
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
      return `must be an integer${rangeOf(schema, ['minimum', 'maximum'], 'of')}`;
    case 'Literal':
      return `must be \`${schema['const']}\``;
    case 'Null':
      return 'must be null';
    case 'Object':
    case 'Record':
      return `must be an object${rangeOf(schema, ['minProperties', 'maxProperties'], 'with', [' member', ' members'])}`;
    case 'String':
      return `must be a text${rangeOf(schema, ['minLength', 'maxLength'], 'of', [' character', ' characters'])}`;
    case 'Union':
      return choiceExpected(schema['anyOf']);
    default:
      return 'must be as the API reference says';
  }
}
