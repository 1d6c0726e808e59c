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
 * How the text of a query parameter becomes a value where TypeBox's own kinds are not enough. The mark is a
 * symbol, so that it never shows in the published document.
 */
export const QUERY_KIND: unique symbol = Symbol('query kind');

/** The kinds that `QUERY_KIND` may name. */
export type QueryKind = 'list' | 'pairs' | 'limit' | 'filter-time';

/** Other names of a parameter, in order of precedence; all of them come before the parameter's own name. */
export const ALIASES: unique symbol = Symbol('aliases');

/** Members that only the published document shows, over those that TypeBox checks. */
export const PUBLISHED: unique symbol = Symbol('published');

/** What a value must be, where its pattern or format does not say it to a person: the rest of a sentence about it. */
export const EXPECTED: unique symbol = Symbol('expected');

/**
 * The schema of a list's items that are checked one by one: a wrong one becomes its error in the decoded list, and the others
 * stay as they are.
 */
export const EACH: unique symbol = Symbol('each');

declare module '@sinclair/typebox' {
  interface SchemaOptions {
    [QUERY_KIND]?: QueryKind;
    [ALIASES]?: readonly string[];
    [EXPECTED]?: string;
    [EACH]?: TSchema;
    [PUBLISHED]?: Readonly<Record<string, unknown>>;
    /** Marks what logs must never hold. */
    'x-secret'?: true;
  }
}

/** A comma-separated list of texts, each of which must fit `items`. */
export function ListOf(items: TSchema, options: SchemaOptions = {}): TUnsafe<string[]> {
  return Type.Unsafe<string[]>(Type.Array(items, { ...options, [QUERY_KIND]: 'list' }));
}

/** What `name:text` begins with. */
export const PAIR_PATTERN = '^[^:]+:';

/** A parameter that may be repeated, each time `name:text`, where the text may have commas and colons. */
export function Pairs(max: number, description: string): TUnsafe<[name: string, text: string][]> {
  return Type.Unsafe<[name: string, text: string][]>(
    Type.Array(Type.String({ pattern: PAIR_PATTERN }), { maxItems: max, description, [QUERY_KIND]: 'pairs' }),
  );
}

/** A list whose items are checked one by one, see `EACH`. */
export function EachOf<Item extends TSchema>(
  item: Item,
  options: ArrayOptions,
): TUnsafe<readonly (Static<Item> | Error)[]> {
  const any = Type.Unsafe<unknown>({ ...item, [Kind]: 'Any' });
  return Type.Unsafe(Type.Array(any, { ...options, [EACH]: item }));
}

/** The size of a page: a positive integer, or any negative one for no limit (decoded as -1). Zero is invalid. */
export function Limit(byDefault: number): TUnsafe<number> {
  return Type.Unsafe<number>({
    type: 'integer',
    not: { const: 0 },
    default: byDefault,
    description: 'Maximum number of entries. A negative value means no limit; 0 is invalid.',
    [QUERY_KIND]: 'limit',
  });
}

/** Like `Limit`; the default is the account's preference, or `byDefault`. */
export function PreferredLimit(byDefault: number) {
  return Type.Optional(
    Type.Unsafe<number>({
      type: 'integer',
      not: { const: 0 },
      description: `Maximum number of entries. A negative value means no limit; 0 is invalid. Default: the preference \`default_limit\`, or ${byDefault}.`,
      [QUERY_KIND]: 'limit',
    }),
  );
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
