/** What all screens have around them: the sign-in, the header and the menu. */
import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import type { Scope } from '../sdk/transport/types.ts';
import { useNotice } from './app/notice.ts';
import { linkTo, useRoute } from './app/route.ts';
import { type ScreenParts, type Session, watchIdle } from './app/session.ts';
import { CertificatesScreen } from './screens/certificates.tsx';
import { CredentialsScreen } from './screens/credentials.tsx';
import { EndpointsScreen } from './screens/endpoints.tsx';
import { FormScreen } from './screens/form-builder.tsx';
import { FormsScreen } from './screens/forms.tsx';
import { HomeScreen } from './screens/home.tsx';
import { ItemScreen } from './screens/item.tsx';
import { ItemsScreen } from './screens/items.tsx';
import { JobScreen, JobsScreen } from './screens/jobs.tsx';
import { KeysScreen } from './screens/keys.tsx';
import { LogScreen } from './screens/log.tsx';
import { PreferencesScreen } from './screens/preferences.tsx';
import { RuleScreen, RulesScreen } from './screens/rules.tsx';
import { SignInScreen } from './screens/sign-in.tsx';
import { UsageScreen } from './screens/usage.tsx';
import { T } from './text/text.ts';
import { Failure, Screen } from './ui/parts.tsx';

type Scopes = readonly Scope[];

interface Entry {
  /** Its text in the menu; a screen that another one leads to has none. */
  readonly title?: string;
  /** The screen that leads to it. */
  readonly of?: string;
  /** It is shown to who may do one of these; without any, to everybody. */
  readonly scopes: Scopes;
  readonly show: (parts: ScreenParts) => preact.JSX.Element;
}

const SCREENS: Readonly<Record<string, Entry>> = {
  '': { title: T.home.title, scopes: [], show: HomeScreen },
  keys: { title: T.keys.title, scopes: ['key:read', 'key:write'], show: KeysScreen },
  items: { title: T.items.title, scopes: ['vault:list'], show: ItemsScreen },
  item: { of: 'items', scopes: ['vault:list', 'vault:read', 'vault:log'], show: ItemScreen },
  capture: {
    title: T.endpoints.capture,
    scopes: ['capture:write'],
    show: ({ session }) => <EndpointsScreen session={session} kind="capture" />,
  },
  retrieve: {
    title: T.endpoints.retrieve,
    scopes: ['retrieve:write'],
    show: ({ session }) => <EndpointsScreen session={session} kind="retrieve" />,
  },
  forms: { title: T.forms.title, scopes: ['form:write'], show: FormsScreen },
  form: { of: 'forms', scopes: ['form:write'], show: FormScreen },
  rules: { title: T.rules.title, scopes: ['rule:read', 'rule:write'], show: RulesScreen },
  rule: { of: 'rules', scopes: ['rule:read', 'rule:write'], show: RuleScreen },
  jobs: { title: T.jobs.title, scopes: ['job:read'], show: JobsScreen },
  job: { of: 'jobs', scopes: ['job:read'], show: JobScreen },
  credentials: { title: T.credentials.title, scopes: ['credential:write'], show: CredentialsScreen },
  certificates: { title: T.certificates.title, scopes: ['cert:write'], show: CertificatesScreen },
  log: { title: T.log.title, scopes: ['audit:read'], show: LogScreen },
  usage: { title: T.usage.title, scopes: ['usage:read'], show: UsageScreen },
  preferences: { title: T.preferences.title, scopes: ['preference:write'], show: PreferencesScreen },
};

function mayShow({ may }: Session, { scopes }: Entry): boolean {
  return scopes.length === 0 || may(...scopes);
}

function entryOf(screen: string): Entry | undefined {
  return Object.hasOwn(SCREENS, screen) ? SCREENS[screen] : undefined;
}

/** Up to this width the menu is above the content, as in the styles. */
const NARROW_MAX = 900;

type Theme = keyof typeof T.themes;

/** Colours as the system has them, or as chosen here. The choice lasts as long as the page. */
function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>('system');
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  return (
    <label class="theme">
      <span>{T.theme}</span>{' '}
      <select value={theme} onChange={({ currentTarget: { value } }) => setTheme(value as Theme)}>
        {Object.entries(T.themes).map(([each, label]) => (
          <option key={each} value={each}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The screens; beside the content, or above it where there is no room, and then closed once one was chosen. */
function Menu({ session, screen }: { readonly session: Session; readonly screen: string }) {
  const [isOpen, setOpen] = useState(innerWidth > NARROW_MAX);
  const entries = Object.entries(SCREENS).filter(([, entry]) => entry.title && mayShow(session, entry));
  const present = entryOf(screen)?.of ?? screen;
  return (
    <details class="menu" open={isOpen} onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>{T.menu}</summary>
      <nav aria-label={T.menu}>
        <ul>
          {entries.map(([name, { title }]) => (
            <li key={name}>
              <a
                href={linkTo(name)}
                aria-current={name === present ? 'page' : undefined}
                onClick={() => setOpen(innerWidth > NARROW_MAX)}
              >
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
    </details>
  );
}

/** A screen; a failure of its own leaves the others usable. */
function Guarded({ entry: { show: Shown }, session, params }: ScreenParts & { readonly entry: Entry }) {
  const [error, retry] = useErrorBoundary();
  return error === undefined ? (
    <Shown session={session} params={params} />
  ) : (
    <Failure error={error} retry={retry} />
  );
}

/** What was just done. The element stays, so that readers of the screen notice a new text in it. */
function Notice() {
  return (
    <p class="notice" role="status">
      {useNotice()}
    </p>
  );
}

/** The whole console, behind the sign-in. */
export function Shell() {
  const [session, setSession] = useState<Session>();
  const { screen, params } = useRoute();
  useEffect(() => (session === undefined ? undefined : watchIdle(() => setSession(undefined))), [session]);
  if (session === undefined) {
    return <SignInScreen onSignedIn={setSession} />;
  }
  const { who } = session;
  const entry = entryOf(screen);
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        {T.skip}
      </button>
      <header class="bar">
        <a class="product" href={linkTo('')}>
          Cardvault
        </a>
        <span class={`badge ${who.environment === 'production' ? 'bad' : 'plain'}`}>{who.environment}</span>
        <span class="soft">
          {who.credential === undefined ? who.user : `${who.user} / ${who.credential.id}`}
        </span>
        <span class="links">
          <ThemeChoice />
          {/* Beside the console, since leaving it signs out. */}
          <a href="/guide" target="_blank" rel="noreferrer">
            {T.guide}
          </a>
          <a href="/docs" target="_blank" rel="noreferrer">
            {T.reference}
          </a>
          <button
            type="button"
            onClick={() => {
              // The place is a customer's, and the next person at this desk is another one.
              location.replace(linkTo(''));
              setSession(undefined);
            }}
          >
            {T.signIn.out}
          </button>
        </span>
      </header>
      <div class="frame">
        <Menu session={session} screen={screen} />
        <main id="content" tabIndex={-1}>
          <Notice />
          {entry !== undefined && mayShow(session, entry) ? (
            <Guarded key={screen} entry={entry} session={session} params={params} />
          ) : (
            <Screen title={entry === undefined ? T.unknownScreen : T.notAllowed}>
              <a href={linkTo('')}>{T.toHome}</a>
            </Screen>
          )}
        </main>
      </div>
    </>
  );
}
