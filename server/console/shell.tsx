import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import type { Scope } from '../../sdk/transport/types.ts';
import { linkTo, type Route, useRoute } from './app/route.ts';
import { type Session, watchIdle } from './app/session.ts';
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
import { Failure } from './ui/parts.tsx';

type Scopes = readonly Scope[];

interface ScreenParts {
  readonly session: Session;
  readonly params: Route['params'];
}

interface Entry {
  /** Its text in the menu; a screen that others lead to has none. */
  readonly title?: string;
  /** It is shown to who may do one of these; without any, to everybody. */
  readonly scopes: Scopes;
  readonly show: (parts: ScreenParts) => preact.JSX.Element;
}

const SCREENS: Readonly<Record<string, Entry>> = {
  '': { title: T.home.title, scopes: [], show: HomeScreen },
  keys: { title: T.keys.title, scopes: ['key:read'], show: KeysScreen },
  items: { title: T.items.title, scopes: ['vault:list', 'vault:read'], show: ItemsScreen },
  item: { scopes: ['vault:list', 'vault:read', 'vault:log'], show: ItemScreen },
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
  form: { scopes: ['form:write'], show: FormScreen },
  rules: { title: T.rules.title, scopes: ['rule:read', 'rule:write'], show: RulesScreen },
  rule: { scopes: ['rule:read', 'rule:write'], show: RuleScreen },
  jobs: { title: T.jobs.title, scopes: ['job:read'], show: JobsScreen },
  job: { scopes: ['job:read'], show: JobScreen },
  credentials: { title: T.credentials.title, scopes: ['credential:write'], show: CredentialsScreen },
  certificates: { title: T.certificates.title, scopes: ['cert:write'], show: CertificatesScreen },
  log: { title: T.log.title, scopes: ['audit:read'], show: LogScreen },
  usage: { title: T.usage.title, scopes: ['usage:read'], show: UsageScreen },
  preferences: { title: T.preferences.title, scopes: ['preference:write'], show: PreferencesScreen },
};

function mayShow({ may }: Session, { scopes }: Entry): boolean {
  return scopes.length === 0 || may(...scopes);
}

type Theme = keyof typeof T.themes;

/** Colours as the system has them, or as chosen here. The choice lasts as long as the page. */
function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>('system');
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  return (
    <label class="theme">
      {T.theme}{' '}
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

function Menu({ session, screen }: { readonly session: Session; readonly screen: string }) {
  const entries = Object.entries(SCREENS).filter(([, entry]) => entry.title && mayShow(session, entry));
  return (
    <details class="menu" open={innerWidth > 900}>
      <summary>{T.menu}</summary>
      <nav aria-label={T.menu}>
        <ul>
          {entries.map(([name, { title }]) => (
            <li key={name}>
              <a href={linkTo(name)} aria-current={name === screen ? 'page' : undefined}>
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

/** The whole console, behind the sign-in. */
export function Shell() {
  const [session, setSession] = useState<Session>();
  const { screen, params } = useRoute();
  useEffect(() => (session === undefined ? undefined : watchIdle(() => setSession(undefined))), [session]);
  if (session === undefined) {
    return <SignInScreen onSignedIn={setSession} />;
  }
  const { who } = session;
  const entry = Object.hasOwn(SCREENS, screen) ? SCREENS[screen] : undefined;
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
          <a href="/guide">{T.guide}</a>
          <a href="/docs">{T.reference}</a>
          <button type="button" onClick={() => setSession(undefined)}>
            {T.signIn.out}
          </button>
        </span>
      </header>
      <div class="frame">
        <Menu session={session} screen={screen} />
        <main id="content" tabIndex={-1}>
          {entry === undefined ? (
            <p class="empty">{T.unknownScreen}</p>
          ) : mayShow(session, entry) ? (
            <Guarded key={screen} entry={entry} session={session} params={params} />
          ) : (
            <p class="empty">{T.notAllowed}</p>
          )}
        </main>
      </div>
    </>
  );
}
