type Range = readonly [name: string, weight: number];

/** The entries of an Accept or Accept-Encoding header, with their weights (RFC 9110, 12.4.2). */
function rangesOf(header: string | null): readonly Range[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .map((entry) => {
      const [name = '', ...parameters] = entry.split(';').map((part) => part.trim());
      const q = parameters.find((parameter) => parameter.startsWith('q='));
      return [name, q === undefined ? 1 : Number(q.slice(2))] as const;
    });
}

/** The weight of a media type: that of the range that matches it best. */
function weightOf(ranges: readonly Range[], type: string): number {
  const names = [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*'];
  const [, weight = 0] =
    names.map((name) => ranges.find(([range]) => range === name)).find((range) => range !== undefined) ?? [];
  return weight >= 0 && weight <= 1 ? weight : 0;
}

/** True if an Accept header prefers a page to JSON (RFC 9110, 12.5.1). Equal weights mean JSON. */
export function prefersHtml(accept: string | null): boolean {
  const ranges = rangesOf(accept);
  return weightOf(ranges, 'text/html') > weightOf(ranges, 'application/json');
}

/** True if an Accept-Encoding header allows gzip (RFC 9110, 12.5.3); `*` stands for all codings that are not named. */
export function acceptsGzip(header: string | null): boolean {
  const ranges = rangesOf(header);
  const [, weight] = ranges.find(([coding]) => coding === 'gzip' || coding === 'x-gzip') ?? [];
  return weight === undefined ? ranges.some(([coding, any]) => coding === '*' && any > 0) : weight > 0;
}
