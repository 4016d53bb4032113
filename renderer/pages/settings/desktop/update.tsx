import { useEffect } from 'react';
import type { AppUpdate, DesktopApi, UpdateStep } from '../../../../protocol/desktop-api.ts';
import { useMoment } from '../../../app/clock.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import type { Perform } from './fleets.tsx';
