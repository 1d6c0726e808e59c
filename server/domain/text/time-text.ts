const FILTER_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/**
 * Parses a time filter, exactly `YYYY-MM-DDThh:mm:ssZ` (RFC 3339, UTC, whole seconds), as milliseconds since 1970.
 * Undefined for any other format and for times that do not exist: 30 February, hour 24, second 60.
 */
export function parseFilterTime(text: string): number | undefined {
  if (!FILTER_TIME.test(text)) {
    return undefined;
  }
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) {
    return undefined;
  }
  return formatStoredAt(ms) === `${text.slice(0, -1)}.000Z` ? ms : undefined;
}

/** A time in milliseconds since 1970 as RFC 3339 text in UTC with milliseconds: `2024-02-29T12:00:00.123Z`. */
export function formatStoredAt(ms: number): string {
  return new Date(ms).toISOString();
}

/** A time in milliseconds since 1970 as RFC 3339 text in UTC to the second: `2024-02-29T12:00:00Z`. */
export function formatExpiry(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
