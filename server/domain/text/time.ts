/** Date, time of day, fraction, sign and amount of the offset. A plus that was not encoded in a query arrives as a space. */
const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.\d{1,18})?(?:[Zz]|([-+ ])(\d\d):(\d\d))$/;
const MINUTE_MS = 60_000;

/**
 * Parses a time filter, a time of RFC 3339 with its zone, as milliseconds since 1970 of its whole second: a fraction is
 * cut off. Undefined for any other format and for times that do not exist: 30 February, hour 24, second 60.
 */
export function parseFilterTime(text: string): number | undefined {
  const [, date, time, sign, hours, minutes] = RFC_3339.exec(text) ?? [];
  const local = Date.parse(`${date}T${time}Z`);
  if (Number.isNaN(local) || formatExpiry(local) !== `${date}T${time}Z`) {
    return undefined;
  }
  const offset = sign === undefined ? 0 : Number(hours) * 60 + Number(minutes);
  if (Number(hours ?? 0) > 23 || Number(minutes ?? 0) > 59) {
    return undefined;
  }
  return sign === '-' ? local + offset * MINUTE_MS : local - offset * MINUTE_MS;
}

/** A time in milliseconds since 1970 as RFC 3339 text in UTC with milliseconds: `2024-02-29T12:00:00.123Z`. */
export function formatStoredAt(ms: number): string {
  return new Date(ms).toISOString();
}

/** A time in milliseconds since 1970 as RFC 3339 text in UTC to the second: `2024-02-29T12:00:00Z`. */
export function formatExpiry(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
