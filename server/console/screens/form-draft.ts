/** The form that the builder shows while it is edited: one of its own in the vault, deleted when the builder is left. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FormSettings } from '../../../sdk/transport/types.ts';
import type { Session } from '../app/session.ts';

const PREFIX = 'console-draft-';
/** How long nothing is typed before the preview follows. */
const PAUSE_MS = 400;

/** The types of forms. */
export type FormType = 'pcd' | 'ach' | 'custom';

/** Whether a form is a draft of the builder, of this page or of one that was closed. */
export function isDraft(id: string): boolean {
  return id.startsWith(PREFIX);
}

/** What the builder shows. */
export interface Preview {
  /** The URL of the draft; a new one at each change, so that the frame loads it again. */
  readonly url: string | undefined;
  readonly error: unknown;
}

/** Keeps a draft with these settings, which any page may embed; removes drafts that pages left behind. */
export function useDraft({ client }: Session, type: FormType, settings: FormSettings): Preview {
  const [preview, setPreview] = useState<Preview>({ url: undefined, error: undefined });
  const draft = useRef<string>(undefined);
  const latest = useRef(settings);
  latest.current = settings;
  const text = JSON.stringify(settings);
  useEffect(() => {
    const remove = (): void => {
      const id = draft.current;
      draft.current = undefined;
      if (id !== undefined) {
        void client.forms.delete({ form_id: id }).catch(() => undefined);
      }
    };
    addEventListener('pagehide', remove);
    return () => {
      removeEventListener('pagehide', remove);
      remove();
    };
  }, [client, type]);
  useEffect(() => {
    const show = async (): Promise<void> => {
      const shown = { ...latest.current, frame_ancestors: null };
      const id = draft.current ?? `${PREFIX}${crypto.randomUUID()}`;
      const form =
        draft.current === undefined
          ? await client.forms.create({ ...shown, form_id: id, form_type: type })
          : await client.forms.replace({ ...shown, form_id: id });
      draft.current = id;
      setPreview({ url: `${form.url}?title=&shown=${Date.now()}`, error: undefined });
    };
    const timer = setTimeout(
      () => show().catch((error: unknown) => setPreview({ url: undefined, error })),
      PAUSE_MS,
    );
    return () => clearTimeout(timer);
  }, [client, type, text]);
  return preview;
}
