/** Times of fields, which are in the reader's zone, and of the API, which are in UTC. */

/** A time as the API takes it: in UTC, to the second. */
export function utcOf(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** A time of the API as a field for a local time has it. */
export function localOf(utc: string | undefined): string {
  if (utc === undefined || Number.isNaN(Date.parse(utc))) {
    return '';
  }
  const time = new Date(utc);
  return new Date(time.getTime() - 60_000 * time.getTimezoneOffset()).toISOString().slice(0, 16);
}

/** The beginning of the reader's day that was so many days ago. */
export function dayBefore(days: number): Date {
  const day = new Date();
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - days);
  return day;
}
