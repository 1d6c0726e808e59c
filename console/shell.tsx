import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import type { Scope } from '../sdk/transport/types.ts';
import { useQuestion } from './app/again.ts';
import { notify, useNotice } from './app/notice.ts';
import { goTo, linkTo, type Route, useRoute } from './app/route.ts';
import {
  type Origins,
  readOrigins,
  resume,
  type ScreenProps,
  type Session,
  signOut,
  watchIdle,
  watchPages,
} from './app/session.ts';
import { T } from './app/text.ts';
import { CertificatesScreen } from './screens/certificates.tsx';
import { ConnectionsScreen } from './screens/connections.tsx';
import { CredentialsScreen } from './screens/credentials.tsx';
import { EndpointsScreen } from './screens/endpoints.tsx';
import { EventsScreen } from './screens/events.tsx';
import { FormScreen } from './screens/form-builder.tsx';
import { FormsScreen } from './screens/forms.tsx';
import { HomeScreen } from './screens/home.tsx';
import { InboundsScreen } from './screens/inbounds.tsx';
import { ItemScreen } from './screens/item.tsx';
import { ItemsScreen } from './screens/items.tsx';
import { JobScreen, JobsScreen } from './screens/jobs.tsx';
import { JoinScreen } from './screens/join.tsx';
import { KeysScreen } from './screens/keys.tsx';
import { LogScreen } from './screens/log.tsx';
import { MeScreen } from './screens/me.tsx';
import { PeopleScreen } from './screens/people.tsx';
import { PreferencesScreen } from './screens/preferences.tsx';
import { ReadingsScreen } from './screens/readings.tsx';
import { RuleScreen, RulesScreen } from './screens/rules.tsx';
import { PersonWays, SignInScreen } from './screens/sign-in.tsx';
import { UsageScreen } from './screens/usage.tsx';
import { Dialog } from './ui/dialog.tsx';
import { Failure, Loading, Screen } from './ui/parts.tsx';

interface Entry {
  /** Text in the menu; absent for a screen that another one links to. */
  readonly title?: string;
  /** The screen that links to it. */
  readonly of?: string;
  /** One of these is required; an empty list requires none. */
  readonly scopes: readonly Scope[];
  /** For people alone. */
  readonly isPersonal?: boolean;
  readonly show: (props: ScreenProps) => preact.JSX.Element;
}

const SCREENS: Readonly<Record<string, Entry>> = {
  '': { title: T.home.title, scopes: [], show: HomeScreen },
  keys: { title: T.keys.title, scopes: ['key:read', 'key:write'], show: KeysScreen },
  items: { title: T.items.title, scopes: ['vault:list'], show: ItemsScreen },
  item: { of: 'items', scopes: ['vault:list', 'vault:read', 'vault:log'], show: ItemScreen },
  capture: {
    title: T.endpoints.capture,
    scopes: ['capture:write'],
    show: (props) => <EndpointsScreen {...props} kind="capture" />,
  },
  retrieve: {
    title: T.endpoints.retrieve,
    scopes: ['retrieve:write'],
    show: (props) => <EndpointsScreen {...props} kind="retrieve" />,
  },
  inbound: { title: T.inbound.title, scopes: ['capture:write'], show: InboundsScreen },
  forms: { title: T.forms.title, scopes: ['form:write'], show: FormsScreen },
  form: { of: 'forms', scopes: ['form:write'], show: FormScreen },
  rules: { title: T.rules.title, scopes: ['rule:read', 'rule:write'], show: RulesScreen },
  rule: { of: 'rules', scopes: ['rule:read', 'rule:write'], show: RuleScreen },
  jobs: { title: T.jobs.title, scopes: ['job:read'], show: JobsScreen },
  job: { of: 'jobs', scopes: ['job:read'], show: JobScreen },
  connections: {
    title: T.connections.title,
    scopes: ['connection:read', 'connection:write'],
    show: ConnectionsScreen,
  },
  events: { title: T.events.title, scopes: ['event:write'], show: EventsScreen },
  credentials: { title: T.credentials.title, scopes: ['credential:write'], show: CredentialsScreen },
  people: { title: T.people.title, scopes: ['person:write'], show: PeopleScreen },
  certificates: { title: T.certificates.title, scopes: ['cert:write'], show: CertificatesScreen },
  readings: { title: T.readings.title, scopes: ['audit:read'], show: ReadingsScreen },
  log: { title: T.log.title, scopes: ['audit:read'], show: LogScreen },
  usage: { title: T.usage.title, scopes: ['usage:read'], show: UsageScreen },
  preferences: { title: T.preferences.title, scopes: ['preference:write'], show: PreferencesScreen },
  me: { title: T.me.title, scopes: [], isPersonal: true, show: MeScreen },
};

function mayShow({ may, who }: Session, { scopes, isPersonal = false }: Entry): boolean {
  return isPersonal ? who.person !== undefined : scopes.length === 0 || may(...scopes);
}

function entryOf(screen: string): Entry | undefined {
  return Object.hasOwn(SCREENS, screen) ? SCREENS[screen] : undefined;
}

/** Widest page with the menu above the content, as in the styles. */
const NARROW_MAX = 900;

type Theme = keyof typeof T.themes;

/** The choice of colours, which lasts as long as the page. */
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

/** The menu of screens. On a narrow page it is above the content, and closes after a choice. */
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

/** A screen. An error in it leaves the others usable. */
function Guarded({ entry: { show: Shown }, session, params }: ScreenProps & { readonly entry: Entry }) {
  const [error, retry] = useErrorBoundary();
  return error === undefined ? (
    <Shown session={session} params={params} />
  ) : (
    <Failure error={error} retry={retry} />
  );
}

/** Where a session has been ended: the address stays, so that the next sign-in goes on there. */
interface Gate {
  readonly session?: Session | undefined;
  /** Why somebody who was signed in has to sign in again. */
  readonly reason?: string;
}

/** Asks a person for another sign-in, where an action needs a new one. */
function SignInAgain({ session, onOther }: SignInAgainProps) {
  const answer = useQuestion();
  const { origins, who } = session;
  if (answer === undefined) {
    return null;
  }
  return (
    <Dialog title={T.signIn.again} onClose={() => answer(false)}>
      <p>{T.signIn.againAbout}</p>
      {origins.sign_in.oidc && <p class="soft">{T.signIn.againOidc}</p>}
      <PersonWays
        origins={origins}
        onCookie={async () => {
          const now = await resume(origins, () => undefined);
          answer(now.who.person?.id === who.person?.id);
          if (now.who.person?.id !== who.person?.id) {
            onOther();
          }
        }}
      />
    </Dialog>
  );
}

interface SignInAgainProps {
  readonly session: Session;
  /** Called if somebody else has signed in. */
  readonly onOther: () => void;
}

/** Who is signed in. */
function nameOf({ user, person, credential }: Session['who']): string {
  const name = person?.name ?? credential?.id;
  return name === undefined ? user : `${user} / ${name}`;
}

/** The console of a session: menu and screen. */
function Console({ session, leave, route: { screen, params }, onOther }: ConsoleProps) {
  const notice = useNotice();
  const { who } = session;
  const entry = entryOf(screen);
  const out = (): void => {
    // The address can name a customer, and the next person at this desk is another one.
    location.replace(linkTo(''));
    leave();
  };
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
        <span class="soft">{nameOf(who)}</span>
        <span class="links">
          <ThemeChoice />
          {/* In a new tab, since leaving the console signs out. */}
          <a href="/guide" target="_blank" rel="noreferrer">
            {T.guide}
          </a>
          <a href="/docs" target="_blank" rel="noreferrer">
            {T.reference}
          </a>
          <button
            type="button"
            onClick={async () => {
              out();
              // The vault ends the session by time, too, if it is not reached.
              const url = await (who.person && signOut(session).catch(() => undefined));
              if (url !== undefined) {
                location.assign(url);
              }
            }}
          >
            {T.signIn.out}
          </button>
        </span>
      </header>
      <div class="frame">
        <Menu session={session} screen={screen} />
        <main id="content" tabIndex={-1}>
          {/* Always rendered, so that screen readers announce a new text in it. */}
          <p class="notice" role="status">
            {notice}
          </p>
          {entry !== undefined && mayShow(session, entry) ? (
            <Guarded key={screen} entry={entry} session={session} params={params} />
          ) : (
            <Screen title={entry === undefined ? T.unknownScreen : T.notAllowed}>
              <a href={linkTo('')}>{T.toHome}</a>
            </Screen>
          )}
        </main>
      </div>
      <SignInAgain session={session} onOther={onOther} />
    </>
  );
}

interface ConsoleProps {
  readonly session: Session;
  readonly route: Route;
  readonly leave: (reason?: string) => void;
  readonly onOther: () => void;
}

export function Shell() {
  const [{ session, reason = '' }, setGate] = useState<Gate>({});
  const [origins, setOrigins] = useState<Origins>();
  const route = useRoute();
  const leave = (why = ''): void => setGate({ reason: why });
  const enter = async (from: Origins, keeper?: string): Promise<void> => {
    const ended = (): void =>
      setGate((gate) => (gate.session === undefined ? gate : { reason: T.signIn.ended }));
    setGate({ session: { ...(await resume(from, ended)), keeper } });
  };
  /** Goes on as the person whose cookie the browser has now. */
  const change = (from: Origins): void => {
    enter(from).then(
      () => notify(T.signIn.otherPerson),
      () => leave(T.signIn.ended),
    );
  };
  useEffect(() => {
    const start = async (): Promise<void> => {
      const found = await readOrigins();
      if (found.session) {
        // One that has ended leaves its cookie.
        await enter(found).catch(() => undefined);
      }
      setOrigins(found);
    };
    void start();
  }, []);
  useEffect(
    () =>
      session &&
      watchIdle(() => {
        leave(T.signIn.idle);
        if (session.who.person !== undefined) {
          // The vault ends it, too, if it is not reached.
          signOut(session).catch(() => undefined);
        }
      }),
    [session],
  );
  useEffect(() => session && watchPages(session, () => change(session.origins)), [session]);
  if (origins === undefined) {
    return <Loading />;
  }
  if (route.screen === 'join') {
    return (
      <JoinScreen
        token={route.params['token']}
        onCookie={async (keeper) => {
          await enter(origins, keeper);
          goTo('');
        }}
      />
    );
  }
  return session === undefined ? (
    <SignInScreen
      reason={reason}
      origins={origins}
      onCookie={(keeper) => enter(origins, keeper)}
      onSignedIn={(signed) => setGate({ session: signed })}
    />
  ) : (
    <Console session={session} route={route} leave={leave} onOther={() => change(origins)} />
  );
}
