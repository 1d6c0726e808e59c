/** Line charts as SVG that reads in light and dark, without a script. */

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Chart {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly series: readonly Series[];
}

const WIDTH = 400;
const HEIGHT = 300;
const LEFT = 58;
const RIGHT = 16;
const TOP = 40;
const BOTTOM = 74;
const COLORS = ['#2563eb', '#d97706', '#059669', '#dc2626', '#7c3aed'] as const;

const STYLE = `text{font:12px system-ui,sans-serif;fill:#1f2937}.t{font-weight:600;font-size:13px}.a{stroke:#9ca3af}
.g{stroke:#9ca3af;stroke-opacity:.25}.l{fill:none;stroke-width:2}
@media(prefers-color-scheme:dark){text{fill:#e5e7eb}}`;

function short(value: number): string {
  return value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(value);
}

/** The powers of ten around some values. */
function decades(values: readonly number[]): number[] {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))));
  return Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
}

/** A place on a logarithmic axis between its first and last mark, from 0 to 1. */
function placeOn(marks: readonly number[]): (value: number) => number {
  const [from, to] = [Math.log10(marks[0] ?? 1), Math.log10(marks.at(-1) ?? 10)];
  return (value) => (Math.log10(value) - from) / (to - from);
}

function renderChart({ title, xLabel, yLabel, series }: Chart, at: number): string {
  const points = series.flatMap((each) => each.points);
  const xMarks = [...new Set(points.map(([x]) => x))].toSorted((a, b) => a - b);
  const yMarks = decades(points.map(([, y]) => y));
  const [xPlace, yPlace] = [placeOn(xMarks), placeOn(yMarks)];
  const x = (value: number): string => (LEFT + xPlace(value) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const y = (value: number): string => (HEIGHT - BOTTOM - yPlace(value) * (HEIGHT - TOP - BOTTOM)).toFixed(1);
  const [left, right, bottom] = [LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM];
  const grid = yMarks.map(
    (mark) =>
      `<line class="g" x1="${left}" x2="${right}" y1="${y(mark)}" y2="${y(mark)}"/>` +
      `<text x="${left - 6}" y="${Number(y(mark)) + 4}" text-anchor="end">${short(mark)}</text>`,
  );
  const ticks = xMarks.map(
    (mark) => `<text x="${x(mark)}" y="${bottom + 16}" text-anchor="middle">${short(mark)}</text>`,
  );
  const lines = series.map((each, n) => {
    const color = COLORS[n % COLORS.length];
    const path = each.points.map(([px, py]) => `${x(px)},${y(py)}`).join(' ');
    const legendX = left + (n % 3) * 112;
    const legendY = HEIGHT - 20 + Math.floor(n / 3) * 16;
    return (
      `<polyline class="l" stroke="${color}" points="${path}"/>` +
      `<line class="l" stroke="${color}" x1="${legendX}" x2="${legendX + 16}" y1="${legendY - 4}" y2="${legendY - 4}"/>` +
      `<text x="${legendX + 20}" y="${legendY}">${each.name}</text>`
    );
  });
  return [
    `<g transform="translate(${at * WIDTH} 0)">`,
    `<text class="t" x="${left}" y="20">${title}</text>`,
    ...grid,
    `<line class="a" x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>`,
    ...ticks,
    `<text x="${(left + right) / 2}" y="${bottom + 33}" text-anchor="middle">${xLabel}</text>`,
    `<text x="14" y="${(TOP + bottom) / 2}" text-anchor="middle" transform="rotate(-90 14 ${(TOP + bottom) / 2})">${yLabel}</text>`,
    ...lines,
    '</g>',
  ].join('\n');
}

/** Charts side by side; both axes are logarithmic. */
export function renderPlot(charts: readonly Chart[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${charts.length * WIDTH} ${HEIGHT}" role="img">`,
    `<title>${charts.map(({ title }) => title).join('; ')}</title>`,
    `<style>${STYLE}</style>`,
    ...charts.map(renderChart),
    '</svg>\n',
  ].join('\n');
}
