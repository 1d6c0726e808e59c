import { JsonNumber, type JsonValue } from './json.ts';

/**
 * A JSON value as JavaScript has it, for bodies that are not stored: numbers lose their text, objects have no
 * prototype, so that `__proto__` is a name like any.
 */
export function toPlain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) {
    return Number(value.text);
  }
  if (Array.isArray(value)) {
    return value.map(toPlain);
  }
  if (!(value instanceof Map)) {
    return value;
  }
  const plain: Record<string, unknown> = Object.create(null);
  for (const [name, member] of value) {
    plain[name] = toPlain(member);
  }
  return plain;
}
