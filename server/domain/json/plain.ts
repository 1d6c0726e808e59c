import { JsonNumber, type JsonValue } from './json.ts';

/**
 * A JSON value as a JavaScript value, for bodies that are not stored: numbers lose their literal; objects have no
 * prototype, so `__proto__` is an ordinary name.
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
