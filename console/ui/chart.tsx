import { useId } from 'preact/hooks';
import { T } from '../app/text.ts';

const WIDTH = 640;
const HEIGHT = 160;
const GAP = 3;

export interface Bar {
  readonly name: string;
  readonly value: number;
}

/** The requests of a month by day, as bars. */
export function daysOf(month: string, days: readonly number[] = []): readonly Bar[] {
  return days.map((value, at) => ({ name: `${month}-${String(at + 1).padStart(2, '0')}`, value }));
}

/** A bar chart as plain SVG with its highest value, and a table of the same figures. */
export function BarChart({ title, unit, bars }: { title: string; unit: string; bars: readonly Bar[] }) {
  const id = useId();
  const most = Math.max(0, ...bars.map(({ value }) => value));
  const step = WIDTH / Math.max(1, bars.length);
  const number = new Intl.NumberFormat();
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption id={id}>
        {title} <span class="soft">{`${number.format(most)} ${unit}`}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map(({ name, value }, at) => {
          const height = (value / Math.max(1, most)) * (HEIGHT - 4);
          return (
            <rect
              key={name}
              x={at * step + GAP / 2}
              y={HEIGHT - Math.max(1, height)}
              width={Math.max(1, step - GAP)}
              height={Math.max(1, height)}
            >
              <title>{`${name}: ${number.format(value)}`}</title>
            </rect>
          );
        })}
      </svg>
      {bars.length > 0 && (
        <p class="axis soft" aria-hidden="true">
          <span>{bars[0]?.name}</span> <span>{bars.at(-1)?.name}</span>
        </p>
      )}
      <details>
        <summary>{T.figures}</summary>
        <table>
          <tbody>
            {bars.map(({ name, value }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="number">{number.format(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
