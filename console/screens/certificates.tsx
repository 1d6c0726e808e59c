import { useLoad } from '../app/load.ts';
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { Confirm, FormDialog } from '../ui/dialog.tsx';
import { List } from '../ui/list.tsx';
import { Copy, Expiry, Panel, Screen } from '../ui/parts.tsx';

/** Client certificates, and the requests to sign them. */
export function CertificatesScreen({ session: { client } }: { readonly session: Session }) {
  const certificates = useLoad(() => client.certificates.list());
  const csrs = useLoad(() => client.certificates.listCsrs());
  return (
    <Screen title={T.certificates.title}>
      <List
        of={certificates}
        title={T.certificates.title}
        empty={T.certificates.empty}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Id', cell: ({ id }) => <code>{id}</code> },
          { title: T.certificates.of, cell: ({ csr_id }) => <code>{csr_id}</code> },
          { title: T.certificates.expires, cell: ({ expiry }) => <Expiry at={expiry} soonDays={30} /> },
        ]}
        actions={({ id }) => (
          <Confirm
            name={id}
            question={T.certificates.removeQuestion}
            onConfirm={() => client.certificates.delete({ id })}
            after={certificates.reload}
          />
        )}
      />
      <Panel
        title={T.certificates.csrs}
        actions={
          <FormDialog
            label={T.certificates.create}
            kind="primary"
            fields={[
              { name: 'cn', label: T.certificates.cn, required: true },
              { name: 'o', label: T.certificates.organization },
              { name: 'c', label: T.certificates.country, placeholder: 'DE' },
            ]}
            onSend={({ needed, text }) =>
              client.certificates.createCsr({ cn: needed('cn'), o: text('o'), c: text('c') })
            }
            after={csrs.reload}
          />
        }
      >
        <List
          of={csrs}
          title={T.certificates.csrs}
          empty={T.certificates.none}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Id', cell: ({ id }) => <code>{id}</code> },
            { title: T.certificates.cn, cell: ({ cn }) => cn },
            { title: T.certificates.text, cell: ({ data }) => <Copy text={data} /> },
          ]}
          actions={({ id }) => (
            <>
              <FormDialog
                label={T.certificates.upload}
                kind="small"
                fields={[{ name: 'pem', label: T.certificates.pem, kind: 'textarea', required: true }]}
                onSend={({ needed }) => client.certificates.create({ csr_id: id, pem: needed('pem') })}
                after={certificates.reload}
              />
              <Confirm
                name={id}
                question={T.certificates.removeQuestion}
                onConfirm={() => client.certificates.deleteCsr({ id })}
                after={csrs.reload}
              />
            </>
          )}
        />
      </Panel>
    </Screen>
  );
}
