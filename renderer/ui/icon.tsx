import {
  Activity,
  ArrowDown,
  ArrowUp,
  ArrowUpToLine,
  Ban,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleHelp,
  CirclePause,
  CircleX,
  Clock,
  Hourglass,
  LayoutDashboard,
  ListOrdered,
  LoaderCircle,
  type LucideIcon,
  MoreHorizontal,
  Play,
  ScrollText,
  Server,
  Settings,
  ShieldAlert,
  Wifi,
  WifiOff,
} from 'lucide-react';

const icons = {
  overview: LayoutDashboard,
  workers: Server,
  jobs: Activity,
  queue: ListOrdered,
  audit: ScrollText,
  settings: Settings,
  help: CircleHelp,
  live: Wifi,
  stale: WifiOff,
  more: MoreHorizontal,
  up: ArrowUp,
  top: ArrowUpToLine,
  down: ArrowDown,
  idle: CircleDot,
  busy: Play,
  connecting: LoaderCircle,
  draining: CirclePause,
  offline: WifiOff,
  quarantined: ShieldAlert,
  pending: Clock,
  blocked: Hourglass,
  dispatched: CircleDashed,
  starting: LoaderCircle,
  running: Play,
  recovering: CircleAlert,
  cancelling: LoaderCircle,
  completed: CircleCheck,
  failed: CircleX,
  cancelled: Ban,
} as const satisfies Readonly<Record<string, LucideIcon>>;

export type IconName = keyof typeof icons;

/** Beside a word that says the same: alone it says nothing to whoever can not see it. */
export function Icon({ name }: { readonly name: IconName }) {
  const Drawing = icons[name];
  return <Drawing size={16} strokeWidth={2} aria-hidden="true" />;
}
