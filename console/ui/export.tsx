import type { Pages } from '../../sdk/transport/pages.ts';
import { csvOf } from '../app/csv.ts';
import { useWork } from '../app/load.ts';
import { notify } from '../app/notice.ts';
import { T } from '../app/text.ts';
import { Failure } from './parts.tsx';

function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${name}-${new Date().toISOString().slice(0, 10)}.csv`;
  link.click();
  URL.revokeObjectURL(url);
}

interface ExportProps {
  /** The beginning of the name of the file. */
  readonly name: string;
  /** Reads all rows of a list, including those that are not shown yet. */
  readonly rows: () => Iterable<readonly object[]> | AsyncIterable<readonly object[]>;
}

/** Reads the wanted rows of all pages. */
export async function* rowsOf<Row>(
  pages: Pages<Row[]>,
  isWanted: (row: Row) => boolean = () => true,
): AsyncGenerator<readonly Row[], void, void> {
  for await (const { data } of pages) {
    yield data.filter(isWanted);
  }
}

/** A button that saves a list as a file for spreadsheets. */
export function Export({ name, rows }: ExportProps) {
  const { isBusy, error, run } = useWork(async () => {
    const all: object[] = [];
    for await (const some of rows()) {
      all.push(...some);
    }
    if (all.length > 0) {
      save(name, csvOf(all));
    }
    notify(all.length > 0 ? T.exports.done(all.length) : T.exports.none);
  });
  return (
    <>
      <button type="button" aria-disabled={isBusy} onClick={run}>
        {isBusy ? T.exports.busy : T.exports.label}
      </button>
      {error !== undefined && <Failure error={error} />}
    </>
  );
}
