import { useLoad } from '../app/load.ts';
import type { ScreenProps } from '../app/session.ts';
import { T } from '../app/text.ts';
import { OPERATIONS } from '../app/words.ts';
import { BarChart, daysOf } from '../ui/chart.tsx';
import { Export } from '../ui/export.tsx';
import { Filter } from '../ui/fields.tsx';
import { Table } from '../ui/list.tsx';
import { Facts, Loaded, Panel, Screen, Word } from '../ui/parts.tsx';

const MONTHS = 12;

/** A month such as `2026-11` in words. */
function nameOf(month: string): string {
  const format = { month: 'long', year: 'numeric', timeZone: 'UTC' } as const;
  return new Date(`${month}-01`).toLocaleDateString(undefined, format);
}

function months(): readonly (readonly [string, string])[] {
  const now = new Date();
  return Array.from({ length: MONTHS }, (_, back) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back))
      .toISOString()
      .slice(0, 7);
    return [month, nameOf(month)] as const;
  });
}

/** Requests of a month, and the bill of the current one. */
export function UsageScreen({ session: { client }, params }: ScreenProps) {
  const { month } = params;
  const usage = useLoad(() => client.admin.usage({ month, by_day: true }), [month]);
  const bill = useLoad(() => client.admin.billing());
  return (
    <Screen title={T.usage.title}>
      <Filter
        screen="usage"
        params={params}
        fields={[{ name: 'month', label: T.usage.month, kind: 'select', options: months() }]}
        send={T.usage.show}
      />
      <Loaded of={usage}>
        {({ month: shown, api_requests, days }) => (
          <>
            <Facts of={[[T.usage.requests, new Intl.NumberFormat().format(api_requests)]]} />
            <BarChart
              title={`${T.home.byDay}, ${nameOf(shown)}`}
              unit={T.home.unit}
              bars={daysOf(shown, days)}
            />
          </>
        )}
      </Loaded>
      <Panel
        title={T.home.cost}
        actions={<Export name="bill" rows={() => [bill.kind === 'ready' ? bill.data.items : []]} />}
      >
        <Loaded of={bill}>
          {({ items, amount, currency }) => (
            <>
              <Table
                title={T.home.cost}
                rows={items.filter(({ count }) => count > 0)}
                empty={T.usage.free}
                keyOf={({ operation }) => operation}
                columns={[
                  {
                    title: T.usage.operation,
                    cell: ({ operation }) => <Word of={OPERATIONS} code={operation} />,
                  },
                  { title: T.usage.count, cell: ({ count }) => count, isNumber: true },
                  { title: T.usage.price, cell: ({ unit_price }) => unit_price, isNumber: true },
                  { title: T.usage.amount, cell: (item) => item.amount, isNumber: true },
                ]}
              />
              <p>
                <strong>{`${T.usage.sum}: ${amount} ${currency}`}</strong>
              </p>
            </>
          )}
        </Loaded>
      </Panel>
    </Screen>
  );
}
