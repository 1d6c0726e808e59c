import { useLoad } from '../app/load.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Confirm, Opener } from '../ui/dialog.tsx';
import { Form } from '../ui/form.tsx';
import { Badge, Copy, Loaded, Panel, Screen, Table, Time } from '../ui/parts.tsx';

const SOON_MS = 30 * 86_400_000;

/** Until when a certificate is valid, with a warning in its last month. */
function Expiry({ at }: { readonly at: string }) {
  const left = Date.parse(at) - Date.now();
  return (
    <div>
      <Time at={at} />{' '}
      {left < SOON_MS && (
        <Badge kind={left < 0 ? 'bad' : 'wait'}>
          {left < 0 ? T.certificates.expired : T.certificates.soon}
        </Badge>
      )}
    </div>
  );
}

function Csrs({
  session: { client },
  onChange,
}: {
  readonly session: Session;
  readonly onChange: () => void;
}) {
  const csrs = useLoad(() => client.certificates.listCsrs());
  return (
    <Panel
      title={T.certificates.csrs}
      actions={
        <Opener label={T.certificates.create} kind="primary">
          {(close) => (
            <Form
              fields={[
                { name: 'cn', label: T.certificates.cn, required: true },
                { name: 'o', label: T.certificates.organization },
                { name: 'c', label: T.certificates.country, placeholder: 'DE' },
              ]}
              send={T.certificates.create}
              onSend={async ({ needed, text }) => {
                await client.certificates.createCsr({ cn: needed('cn'), o: text('o'), c: text('c') });
                csrs.reload();
                close();
              }}
            />
          )}
        </Opener>
      }
    >
      <Loaded of={csrs}>
        {(rows) => (
          <Table
            label={T.certificates.csrs}
            rows={rows}
            empty={T.certificates.none}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Id', cell: ({ id }) => <code>{id}</code> },
              { title: T.certificates.cn, cell: ({ cn }) => cn },
              { title: T.certificates.text, cell: ({ data }) => <Copy text={data} /> },
              {
                title: T.actions,
                cell: ({ id }) => (
                  <div class="actions">
                    <Opener label={T.certificates.upload} kind="small">
                      {(close) => (
                        <Form
                          fields={[
                            { name: 'pem', label: T.certificates.pem, kind: 'textarea', required: true },
                          ]}
                          send={T.certificates.upload}
                          onSend={async ({ needed }) => {
                            await client.certificates.create({ csr_id: id, pem: needed('pem') });
                            onChange();
                            close();
                          }}
                        />
                      )}
                    </Opener>
                    <Confirm
                      name={id}
                      question={T.certificates.removeQuestion}
                      onConfirm={async () => {
                        await client.certificates.deleteCsr({ id });
                        csrs.reload();
                      }}
                    />
                  </div>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

/** Client certificates, and the requests to sign them. */
export function CertificatesScreen({ session }: { readonly session: Session }) {
  const { client } = session;
  const certificates = useLoad(() => client.certificates.list());
  return (
    <Screen title={T.certificates.title}>
      <Loaded of={certificates}>
        {(rows) => (
          <Table
            label={T.certificates.title}
            rows={rows}
            empty={T.certificates.empty}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Id', cell: ({ id }) => <code>{id}</code> },
              { title: T.certificates.of, cell: ({ csr_id }) => <code>{csr_id}</code> },
              { title: T.certificates.expires, cell: ({ expiry }) => <Expiry at={expiry} /> },
              {
                title: T.actions,
                cell: ({ id }) => (
                  <Confirm
                    name={id}
                    question={T.certificates.removeQuestion}
                    onConfirm={async () => {
                      await client.certificates.delete({ id });
                      certificates.reload();
                    }}
                  />
                ),
              },
            ]}
          />
        )}
      </Loaded>
      <Csrs session={session} onChange={certificates.reload} />
    </Screen>
  );
}
