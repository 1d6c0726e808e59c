import { useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../text/text.ts';
import { Confirm } from '../ui/dialog.tsx';
import { Loaded, Screen, Table } from '../ui/parts.tsx';
import { isDraft } from './form-draft.ts';

/** The hosted forms of the account. */
export function FormsScreen({ session: { client } }: { readonly session: Session }) {
  const forms = useLoad(() => client.forms.list());
  return (
    <Screen
      title={T.forms.title}
      about={T.forms.about}
      actions={
        <a class="button primary" href={linkTo('form')}>
          {T.forms.create}
        </a>
      }
    >
      <Loaded of={forms}>
        {(rows) => (
          <Table
            label={T.forms.title}
            rows={rows.filter(({ id }) => !isDraft(id))}
            empty={T.forms.empty}
            keyOf={({ id }) => id}
            columns={[
              { title: T.forms.id, cell: ({ id }) => <code>{id}</code> },
              { title: T.forms.type, cell: ({ form_type }) => T.forms.types[form_type] },
              { title: T.forms.names.locale, cell: ({ locale }) => locale },
              {
                title: T.actions,
                cell: ({ id }) => (
                  <div class="actions">
                    <a class="button" href={linkTo('form', { id })}>
                      {T.forms.edit}
                    </a>
                    <Confirm
                      name={id}
                      question={T.forms.removeQuestion}
                      onConfirm={async () => {
                        await client.forms.delete({ form_id: id });
                        forms.reload();
                      }}
                    />
                  </div>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Screen>
  );
}
