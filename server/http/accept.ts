/** How well a range of media types names a type: 3 for the type itself, 1 for `*`/`*`, 0 when it does not. */
function fitOf(range: string, type: string): number {
  if (range === type) {
    return 3;
  }
  if (range === `${type.slice(0, type.indexOf('/'))}/*`) {
    return 2;
  }
  return range === '*/*' ? 1 : 0;
}

/** How much a type is wanted by an Accept header: the weight of the range that names it best. */
function weightOf(ranges: readonly (readonly [range: string, weight: number])[], type: string): number {
  let best = 0;
  let weight = 0;
  for (const [range, wanted] of ranges) {
    const fit = fitOf(range, type);
    if (fit > best) {
      best = fit;
      weight = wanted;
    }
  }
  return weight;
}

/** Whether an Accept header asks for a page rather than for JSON (RFC 9110, 12.5.1). Equal wishes mean JSON. */
export function prefersHtml(accept: string | null): boolean {
  const ranges = (accept ?? '').split(',').map((entry) => {
    const [range = '', ...parameters] = entry
      .toLowerCase()
      .split(';')
      .map((part) => part.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = q === undefined ? 1 : Number(q.slice(2));
    return [range, weight >= 0 && weight <= 1 ? weight : 0] as const;
  });
  return weightOf(ranges, 'text/html') > weightOf(ranges, 'application/json');
}

/** Whether an Accept-Encoding header takes gzip (RFC 9110, 12.5.3); a weight of 0 refuses it, and `*` stands for all not named. */
export function acceptsGzip(header: string | null): boolean {
  let any = false;
  for (const entry of (header ?? '').toLowerCase().split(',')) {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    const isTaken = q === undefined || Number(q.slice(2)) > 0;
    if (coding === 'gzip' || coding === 'x-gzip') {
      return isTaken;
    }
    any ||= coding === '*' && isTaken;
  }
  return any;
}
