import type { audit as source } from '../en/audit.ts';

export const audit: Readonly<Record<keyof typeof source, string>> = {
  'audit.type': 'Evento',
  'audit.target': 'Objetivo',
  'audit.actor': 'Autor',
  'audit.at': 'Hora',
  'audit.seq': 'N.º',
  'audit.details': 'Detalles',
  'audit.count': '{count, plural, one {# entrada} other {# entradas}}',
  'audit.none': 'Aún no hay entradas. Aquí aparecen las acciones sobre trabajos, workers y tokens.',
  'audit.noMatch':
    'Ninguna entrada coincide con estos filtros. Autor y objetivo deben coincidir por completo.',
  'audit.more': 'Mostrar entradas anteriores',
  'audit.verify': 'Verificar registro',
  'audit.verifying': 'Verificando todo el registro',
  'audit.whole':
    '{count, plural, one {# entrada verificada, sin cambios} other {# entradas verificadas, todas sin cambios}}',
  'audit.broken': 'Entrada {seq, number}: {problem}',
  'audit.anyType': 'Todos los eventos',
  'audit.since': 'Desde',
  'audit.until': 'Hasta',
  'audit.export': 'Exportar JSONL',
  'audit.trimmed': 'Las entradas hasta la {seq, number} se eliminaron por su antigüedad.',
};
