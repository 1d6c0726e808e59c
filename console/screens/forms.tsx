import { useLoad } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { languageOf } from '../app/words.ts';
import { Confirm } from '../ui/dialog.tsx';
import { Export } from '../ui/export.tsx';
import { List } from '../ui/list.tsx';
import { Screen } from '../ui/parts.tsx';
import { isDraft } from './form-draft.ts';

/** The hosted forms of the account. */
export function FormsScreen({ session: { client } }: { readonly session: Session }) {
  const forms = useLoad(async () => (await client.forms.list()).filter(({ id }) => !isDraft(id)));
  return (
    <Screen
      title={T.forms.title}
      about={T.forms.about}
      actions={
        <>
          <Export name="forms" rows={() => [forms.kind === 'ready' ? forms.data : []]} />
          <a class="button primary" href={linkTo('form')}>
            {T.forms.create}
          </a>
        </>
      }
    >
      <List
        of={forms}
        title={T.forms.title}
        empty={T.forms.empty}
        keyOf={({ id }) => id}
        columns={[
          { title: T.forms.id, cell: ({ id }) => <code>{id}</code> },
          { title: T.forms.type, cell: ({ form_type }) => T.forms.types[form_type] },
          { title: T.forms.names.locale, cell: ({ locale }) => (locale ? languageOf(locale) : '') },
        ]}
        actions={({ id }) => (
          <>
            <a class="button" href={linkTo('form', { id })}>
              {T.forms.edit}
            </a>
            <Confirm
              name={id}
              question={T.forms.removeQuestion}
              onConfirm={() => client.forms.delete({ form_id: id })}
              after={forms.reload}
            />
          </>
        )}
      />
    </Screen>
  );
}
