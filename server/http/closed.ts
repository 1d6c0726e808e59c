import { Kind, type TSchema } from '@sinclair/typebox';

function closedValue(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(closedValue);
  }
  return typeof value === 'object' && value !== null ? closed(value as TSchema) : value;
}

/** A schema whose objects have the members that it declares and no others, except where it allows more itself. */
export function closed(schema: TSchema): TSchema {
  const copy: Record<PropertyKey, unknown> = {};
  for (const name of Reflect.ownKeys(schema)) {
    copy[name] = closedValue(Reflect.get(schema, name));
  }
  if (copy[Kind] === 'Object') {
    copy['additionalProperties'] ??= false;
  }
  return copy as unknown as TSchema;
}
