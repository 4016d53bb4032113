// Import icons one by one: the index of the package has 1,700 files, and each build would read them all.
import type { LucideIcon } from 'lucide-react';
import Activity from 'lucide-react/icons/activity';
import ArrowDown from 'lucide-react/icons/arrow-down';
import ArrowUp from 'lucide-react/icons/arrow-up';
import ArrowUpToLine from 'lucide-react/icons/arrow-up-to-line';
import Ban from 'lucide-react/icons/ban';
import ChartGantt from 'lucide-react/icons/chart-gantt';
import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import CircleDashed from 'lucide-react/icons/circle-dashed';
import CircleDot from 'lucide-react/icons/circle-dot';
import CircleHelp from 'lucide-react/icons/circle-help';
import CirclePause from 'lucide-react/icons/circle-pause';
import CircleX from 'lucide-react/icons/circle-x';
import Clock from 'lucide-react/icons/clock';
import Database from 'lucide-react/icons/database';
import Hourglass from 'lucide-react/icons/hourglass';
import Images from 'lucide-react/icons/images';
import Layers from 'lucide-react/icons/layers';
import LayoutDashboard from 'lucide-react/icons/layout-dashboard';
import ListOrdered from 'lucide-react/icons/list-ordered';
import LoaderCircle from 'lucide-react/icons/loader-circle';
import MoreHorizontal from 'lucide-react/icons/more-horizontal';
import Pin from 'lucide-react/icons/pin';
import Play from 'lucide-react/icons/play';
import ScrollText from 'lucide-react/icons/scroll-text';
import Server from 'lucide-react/icons/server';
import Settings from 'lucide-react/icons/settings';
import ShieldAlert from 'lucide-react/icons/shield-alert';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import UserRound from 'lucide-react/icons/user-round';
import Wifi from 'lucide-react/icons/wifi';
import WifiOff from 'lucide-react/icons/wifi-off';

const icons = {
  overview: LayoutDashboard,
  workers: Server,
  jobs: Activity,
  gallery: Images,
  queue: ListOrdered,
  timeline: ChartGantt,
  pools: Layers,
  data: Database,
  audit: ScrollText,
  settings: Settings,
  help: CircleHelp,
  live: Wifi,
  stale: WifiOff,
  more: MoreHorizontal,
  trouble: TriangleAlert,
  person: UserRound,
  pin: Pin,
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

/** An icon next to a text with the same meaning; screen readers skip it. */
export function Icon({ name }: { readonly name: IconName }) {
  const Drawing = icons[name];
  return <Drawing size={16} strokeWidth={2} aria-hidden="true" />;
}
