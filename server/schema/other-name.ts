import { type TSchema, Type } from '@sinclair/typebox';
import { VaultError } from '../core/errors.ts';
import { expectedOf } from './expected.ts';
import { OTHER_NAME } from './kinds.ts';

/** A member of a request that has a second name. */
export interface Pair {
  readonly name: string;
  readonly other: string;
  readonly isRequired: boolean;
  /** The requirement of its value, as the rest of a sentence. */
  readonly expected: string;
}

/** The members of an object with a second name; none of any other schema. */
export function pairsOf(schema: TSchema): readonly Pair[] {
  const required: readonly string[] = schema['required'] ?? [];
  return Object.entries<TSchema>(schema['properties'] ?? {}).flatMap(([name, property]) => {
    const other = property[OTHER_NAME];
    const isRequired = required.includes(name);
    return other === undefined ? [] : [{ name, other, isRequired, expected: expectedOf(property) }];
  });
}

/** A schema in which each member with a second name is two, the second name first. `shape` makes the two. */
function withBoth<Schema extends TSchema>(
  schema: Schema,
  shape: (pair: Pair, property: TSchema) => readonly [other: TSchema, own: TSchema],
): Schema {
  const pairs = pairsOf(schema);
  if (pairs.length === 0) {
    return schema;
  }
  const { type: _type, properties, required: _required, ...options } = schema as TSchema;
  const both = Object.entries<TSchema>(properties).flatMap(([name, property]): [string, TSchema][] => {
    const pair = pairs.find((one) => one.name === name);
    if (pair === undefined) {
      return [[name, property]];
    }
    const [other, own] = shape(pair, property);
    return [
      [pair.other, other],
      [name, own],
    ];
  });
  // A member is added, which no handler reads.
  return Type.Object(Object.fromEntries(both), options) as TSchema as Schema;
}

/** The schema that requests are checked by: either name can be missing, which {@link joinNames} checks. */
export function openNames<Schema extends TSchema>(schema: Schema): Schema {
  return withBoth(schema, (_, property) => [Type.Optional(property), Type.Optional(property)]);
}

/** The schema as it is published: the second name as the name of the member, and its own as an alias. */
export function publishedNames<Schema extends TSchema>(schema: Schema): Schema {
  return withBoth(schema, ({ other }, property) => [
    property,
    Type.Optional({
      ...property,
      description: `Alias of \`${other}\`; if both are sent, they must be equal.`,
    }),
  ]);
}

/** Places of members that were not sent under their own name: as services know them, and as the caller does. */
export interface Noted {
  renamed: Record<string, string> | undefined;
}

/**
 * Gives each value that was sent under its second name its own, and notes the places of members that were not sent under their own
 * name. Throws `conflicting_parameters` for two values, and `invalid_request` for a missing one.
 */
export function joinNames(
  pairs: readonly Pair[],
  values: Record<string, unknown>,
  root: 'query' | 'body' | 'header',
  noted: Noted,
): void {
  for (const { name, other, isRequired, expected } of pairs) {
    const own = values[name];
    const second = values[other];
    const field = `${root}.${other}`;
    if (second === undefined) {
      if (own === undefined && isRequired) {
        const missing = `is missing, as is \`${other}\`, and ${expected}`;
        throw new VaultError('invalid_request', { field: `${root}.${name}`, expected: missing });
      }
      continue;
    }
    if (own !== undefined && own !== second) {
      throw new VaultError('conflicting_parameters', { field });
    }
    values[name] = second;
    values[other] = undefined;
    noted.renamed ??= {};
    noted.renamed[`${root}.${name}`] = field;
  }
}
