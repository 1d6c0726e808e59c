import {
  type ArrayOptions,
  Kind,
  type SchemaOptions,
  type Static,
  type TSchema,
  type TUnsafe,
  Type,
} from '@sinclair/typebox';

/**
 * Conversion of a query parameter's text if TypeBox's own kinds are not enough. A symbol, so that it never shows in the
 * published document.
 */
export const QUERY_KIND: unique symbol = Symbol('query kind');

export type QueryKind = 'list' | 'pairs' | 'limit' | 'filter-time';

/** Other names of a parameter, in order of precedence, all before its own name. */
export const ALIASES: unique symbol = Symbol('aliases');

/**
 * A second name of a member of a request, which is published first. Either is accepted, and both if they are equal; the service
 * gets the value under the member's own name.
 */
export const OTHER_NAME: unique symbol = Symbol('other name');

/** Members of the published document only, over those that TypeBox checks. */
export const PUBLISHED: unique symbol = Symbol('published');

/** Requirement for a value whose pattern or format is not readable: the rest of a sentence. */
export const EXPECTED: unique symbol = Symbol('expected');

/** The schema of items that are checked one by one: a wrong one becomes its error in the decoded list. */
export const EACH: unique symbol = Symbol('each');

declare module '@sinclair/typebox' {
  interface SchemaOptions {
    [QUERY_KIND]?: QueryKind;
    [ALIASES]?: readonly string[];
    [OTHER_NAME]?: string;
    [EXPECTED]?: string;
    [EACH]?: TSchema;
    [PUBLISHED]?: Readonly<Record<string, unknown>>;
    /** Must never be logged. */
    'x-secret'?: true;
  }
}

/** A comma-separated list of texts, each of which must fit `items`. */
export function ListOf(items: TSchema, options: SchemaOptions = {}): TUnsafe<string[]> {
  return Type.Unsafe<string[]>(Type.Array(items, { ...options, [QUERY_KIND]: 'list' }));
}

export const PAIR_PATTERN = '^[^:]+:';

/** A repeatable parameter `name:text`, whose text may have commas and colons. */
export function Pairs(max: number, description: string): TUnsafe<[name: string, text: string][]> {
  return Type.Unsafe<[name: string, text: string][]>(
    Type.Array(Type.String({ pattern: PAIR_PATTERN }), { maxItems: max, description, [QUERY_KIND]: 'pairs' }),
  );
}

/** A list with `EACH`. */
export function EachOf<Item extends TSchema>(
  item: Item,
  options: ArrayOptions,
): TUnsafe<readonly (Static<Item> | Error)[]> {
  const any = Type.Unsafe<unknown>({ ...item, [Kind]: 'Any' });
  return Type.Unsafe(Type.Array(any, { ...options, [EACH]: item }));
}

const LIMIT = { type: 'integer', not: { const: 0 }, [QUERY_KIND]: 'limit' } as const;
const LIMIT_DESCRIPTION = 'Maximum number of entries. A negative value means no limit; 0 is invalid.';

/** The size of a page: a positive integer, or any negative one for no limit (decoded as -1). Zero is invalid. */
export function Limit(byDefault: number): TUnsafe<number> {
  return Type.Unsafe<number>({ ...LIMIT, default: byDefault, description: LIMIT_DESCRIPTION });
}

/** Like `Limit`; the default is the account's preference, or `byDefault`. */
export function PreferredLimit(byDefault: number) {
  const description = `${LIMIT_DESCRIPTION} Default: the preference \`default_limit\`, or ${byDefault}.`;
  return Type.Optional(Type.Unsafe<number>({ ...LIMIT, description }));
}

/** A time filter, `YYYY-MM-DDThh:mm:ssZ`, decoded to milliseconds since 1970. */
export function FilterTime(description: string): TUnsafe<number> {
  return Type.Unsafe<number>({
    type: 'string',
    format: 'date-time',
    examples: ['2026-01-31T12:00:00Z'],
    description: `${description} Format: \`YYYY-MM-DDThh:mm:ssZ\`.`,
    [QUERY_KIND]: 'filter-time',
  });
}
