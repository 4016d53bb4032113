import type { SettingsKey } from '../en/settings-topics.ts';

export const settingsTopics: Readonly<Record<SettingsKey, string>> = {
  'topics.label': 'Secciones',
  'topics.choose': 'Sección',
  'topics.general': 'General',
  'topics.account': 'Cuenta',
  'topics.phone': 'Abrir en un teléfono',
  'topics.token.created': 'Creado por {by}:',
  'topics.token.team': 'Equipo {team}',
  'topics.data': 'Datos y copias',
  'topics.access': 'Acceso',
  'topics.notifications': 'Notificaciones',
  'topics.push': 'Mensajes push en este navegador',
  'topics.search': 'Buscar ajustes',
  'topics.search.results': 'Ajustes encontrados',
  'topics.search.count': '{count, plural, one {# ajuste encontrado} other {# ajustes encontrados}}',
  'topics.search.none': 'Ningún ajuste coincide con «{query}».',
  'topics.queue.title': 'Orden y pausa',
  'topics.queue.explain':
    'La página de la cola muestra el orden de los trabajos pendientes. Allí también puede pausar la cola.',
  'topics.queue.page': 'Abrir la cola',
  'topics.workers.title': 'Otras máquinas',
  'topics.workers.explain':
    'La página de workers muestra todas las máquinas. Allí puede añadirlas, nombrarlas, etiquetarlas, drenarlas y eliminarlas.',
  'topics.workers.page': 'Abrir los workers',
  'topics.pools.explain':
    'Un pool pide máquinas a un clúster o a una nube mientras hay trabajos en espera. Su página muestra sus límites, su presupuesto y su horario.',
  'topics.pools.none': 'Todavía no hay pools.',
  'topics.pools.edit': 'Editar',
  'topics.pools.edit.of': 'Editar el pool {name}',
  'topics.pools.page': 'Abrir los pools',
  'topics.data.title': 'Conjuntos de datos',
  'topics.data.explain':
    'La página de datos muestra los conjuntos de datos y el espacio que ocupan. Allí puede eliminar versiones antiguas.',
  'topics.data.page': 'Abrir los conjuntos de datos',
};
