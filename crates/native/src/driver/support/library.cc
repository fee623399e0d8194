// What the C++ library has of lists, trees, hash tables and futures in compiled form, in a form that can be instrumented.

#include <bits/atomic_futex.h>
#include <cmath>
#include <cstddef>
#include <list>
#include <map>
#include <pthread.h>
#include <unordered_map>

// ---- Lists: nodes in a ring ----

namespace std::__detail {

void _List_node_base::_M_hook(_List_node_base *const next) noexcept {
  _M_next = next;
  _M_prev = next->_M_prev;
  next->_M_prev->_M_next = this;
  next->_M_prev = this;
}

void _List_node_base::_M_unhook() noexcept {
  _List_node_base *next = _M_next, *prev = _M_prev;
  prev->_M_next = next;
  next->_M_prev = prev;
}

// Moves the nodes from `first` up to `last`, without it, before this one.
void _List_node_base::_M_transfer(_List_node_base *const first, _List_node_base *const last) noexcept {
  if (this == last) return;
  _List_node_base *final = last->_M_prev, *before = first->_M_prev, *mine = _M_prev;
  before->_M_next = last;
  last->_M_prev = before;
  mine->_M_next = first;
  first->_M_prev = mine;
  final->_M_next = this;
  _M_prev = final;
}

void _List_node_base::_M_reverse() noexcept {
  _List_node_base *node = this;
  do {
    _List_node_base *next = node->_M_next;
    node->_M_next = node->_M_prev;
    node->_M_prev = next;
    node = next;
  } while (node != this);
}

void _List_node_base::swap(_List_node_base &a, _List_node_base &b) noexcept {
  bool a_empty = a._M_next == &a, b_empty = b._M_next == &b;
  _List_node_base a_was = a, b_was = b;
  if (b_empty) {
    a._M_next = a._M_prev = &a;
  } else {
    a._M_next = b_was._M_next, a._M_prev = b_was._M_prev;
    a._M_next->_M_prev = a._M_prev->_M_next = &a;
  }
  if (a_empty) {
    b._M_next = b._M_prev = &b;
  } else {
    b._M_next = a_was._M_next, b._M_prev = a_was._M_prev;
    b._M_next->_M_prev = b._M_prev->_M_next = &b;
  }
}

}  // namespace std::__detail

// ---- Trees: red and black; the header's parent is the root, its children are the least and the greatest node ----

namespace std {

using node = _Rb_tree_node_base;

static node *next(node *at) noexcept {
  if (at->_M_right) {
    at = at->_M_right;
    while (at->_M_left) at = at->_M_left;
    return at;
  }
  node *up = at->_M_parent;
  while (at == up->_M_right) at = up, up = up->_M_parent;
  // From the greatest node one comes to the header, also if that is the root's parent and child alike.
  return at->_M_right == up ? at : up;
}

static node *previous(node *at) noexcept {
  // Before the header is the greatest node. The header is red, and its own grandchild.
  if (at->_M_color == _S_red && at->_M_parent->_M_parent == at) return at->_M_right;
  if (at->_M_left) {
    at = at->_M_left;
    while (at->_M_right) at = at->_M_right;
    return at;
  }
  node *up = at->_M_parent;
  while (at == up->_M_left) at = up, up = up->_M_parent;
  return up;
}

node *_Rb_tree_increment(node *at) throw() { return next(at); }
const node *_Rb_tree_increment(const node *at) throw() { return next(const_cast<node *>(at)); }
node *_Rb_tree_decrement(node *at) throw() { return previous(at); }
const node *_Rb_tree_decrement(const node *at) throw() { return previous(const_cast<node *>(at)); }

// Puts `child` where `at` hangs.
static void hang(node *at, node *child, node *&root) noexcept {
  node *up = at->_M_parent;
  if (at == root) root = child;
  else if (at == up->_M_left) up->_M_left = child;
  else up->_M_right = child;
  if (child) child->_M_parent = up;
}

// The child on one side rises, and `at` becomes its child on the other.
static void rotate(node *at, bool left, node *&root) noexcept {
  node *child = left ? at->_M_right : at->_M_left;
  node *&inner = left ? child->_M_left : child->_M_right;
  (left ? at->_M_right : at->_M_left) = inner;
  if (inner) inner->_M_parent = at;
  hang(at, child, root);
  inner = at;
  at->_M_parent = child;
}

void _Rb_tree_insert_and_rebalance(const bool left, node *fresh, node *up, node &header) throw() {
  node *&root = header._M_parent;
  fresh->_M_parent = up;
  fresh->_M_left = fresh->_M_right = nullptr;
  fresh->_M_color = _S_red;
  if (left) {
    // For an empty tree this makes the node the least, as `up` is the header.
    up->_M_left = fresh;
    if (up == &header) root = header._M_right = fresh;
    else if (up == header._M_left) header._M_left = fresh;
  } else {
    up->_M_right = fresh;
    if (up == header._M_right) header._M_right = fresh;
  }
  node *at = fresh;
  while (at != root && at->_M_parent->_M_color == _S_red) {
    node *parent = at->_M_parent, *grandparent = parent->_M_parent;
    bool on_left = parent == grandparent->_M_left;
    node *uncle = on_left ? grandparent->_M_right : grandparent->_M_left;
    if (uncle && uncle->_M_color == _S_red) {
      parent->_M_color = uncle->_M_color = _S_black;
      grandparent->_M_color = _S_red;
      at = grandparent;
      continue;
    }
    if (at == (on_left ? parent->_M_right : parent->_M_left)) {
      rotate(parent, on_left, root);
      at = parent;
      parent = at->_M_parent;
    }
    parent->_M_color = _S_black;
    grandparent->_M_color = _S_red;
    rotate(grandparent, !on_left, root);
  }
  root->_M_color = _S_black;
}

// After a black node was taken out above `at` (which may be nothing, below `up`).
static void mend(node *at, node *up, node *&root) noexcept {
  auto black = [](node *one) { return !one || one->_M_color == _S_black; };
  while (at != root && black(at)) {
    bool on_left = at == up->_M_left;
    node *sibling = on_left ? up->_M_right : up->_M_left;
    if (sibling->_M_color == _S_red) {
      sibling->_M_color = _S_black;
      up->_M_color = _S_red;
      rotate(up, on_left, root);
      sibling = on_left ? up->_M_right : up->_M_left;
    }
    node *near = on_left ? sibling->_M_left : sibling->_M_right;
    node *far = on_left ? sibling->_M_right : sibling->_M_left;
    if (black(near) && black(far)) {
      sibling->_M_color = _S_red;
      at = up;
      up = up->_M_parent;
      continue;
    }
    if (black(far)) {
      near->_M_color = _S_black;
      sibling->_M_color = _S_red;
      rotate(sibling, !on_left, root);
      sibling = near;
      far = on_left ? sibling->_M_right : sibling->_M_left;
    }
    sibling->_M_color = up->_M_color;
    up->_M_color = _S_black;
    far->_M_color = _S_black;
    rotate(up, on_left, root);
    break;
  }
  if (at) at->_M_color = _S_black;
}

node *_Rb_tree_rebalance_for_erase(node *const gone, node &header) throw() {
  node *&root = header._M_parent;
  if (gone == header._M_left) header._M_left = next(gone);
  if (gone == header._M_right) header._M_right = previous(gone);
  node *up = gone->_M_parent, *child;
  _Rb_tree_color colour = gone->_M_color;
  if (!gone->_M_left || !gone->_M_right) {
    child = gone->_M_left ? gone->_M_left : gone->_M_right;
    hang(gone, child, root);
  } else {
    node *heir = gone->_M_right;
    while (heir->_M_left) heir = heir->_M_left;
    child = heir->_M_right;
    colour = heir->_M_color;
    up = heir->_M_parent == gone ? heir : heir->_M_parent;
    if (up != heir) {
      hang(heir, child, root);
      heir->_M_right = gone->_M_right;
      heir->_M_right->_M_parent = heir;
    }
    hang(gone, heir, root);
    heir->_M_left = gone->_M_left;
    heir->_M_left->_M_parent = heir;
    heir->_M_color = gone->_M_color;
  }
  if (colour == _S_black && root) mend(child, up, root);
  return gone;
}

unsigned int _Rb_tree_black_count(const node *at, const node *root) throw() {
  unsigned int count = 0;
  for (; at; at = at == root ? nullptr : at->_M_parent) count += at->_M_color == _S_black;
  return count;
}

}  // namespace std

// ---- Hash tables: how many buckets ----

namespace std::__detail {

static bool is_prime(size_t number) noexcept {
  for (size_t factor = 2; factor <= number / factor; factor++)
    if (number % factor == 0) return false;
  return number >= 2;
}

size_t _Prime_rehash_policy::_M_next_bkt(size_t least) const {
  size_t buckets = least < 2 ? (least == 0 ? 1 : 2) : least;
  while (buckets > 2 && !is_prime(buckets)) buckets++;
  _M_next_resize = (size_t)std::floor((long double)buckets * _M_max_load_factor);
  return buckets;
}

pair<bool, size_t> _Prime_rehash_policy::_M_need_rehash(size_t buckets, size_t elements, size_t more) const {
  if (elements + more <= _M_next_resize) return {false, 0};
  long double least = (elements + more) / (long double)_M_max_load_factor;
  // The first table is not a tiny one.
  if (_M_next_resize == 0 && least < 11) least = 11;
  if (least < buckets) {
    _M_next_resize = (size_t)std::floor((long double)buckets * _M_max_load_factor);
    return {false, 0};
  }
  size_t grown = (size_t)std::floor(least) + 1;
  return {true, _M_next_bkt(grown > buckets * _S_growth_factor ? grown : buckets * _S_growth_factor)};
}

}  // namespace std::__detail

// ---- Futures: waiting until a word changes, which the library does by asking the kernel ----

namespace std {

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static bool wait_while(unsigned *word, unsigned value, const timespec *until) {
  bool in_time = true;
  pthread_mutex_lock(&changing);
  while (in_time && __atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
    in_time = (until ? pthread_cond_timedwait(&changed, &changing, until) : pthread_cond_wait(&changed, &changing)) == 0;
  pthread_mutex_unlock(&changing);
  return in_time;
}

bool __atomic_futex_unsigned_base::_M_futex_wait_until(unsigned *word, unsigned value, bool bounded,
                                                       chrono::seconds seconds, chrono::nanoseconds rest) {
  timespec until = {(time_t)seconds.count(), (long)rest.count()};
  return wait_while(word, value, bounded ? &until : nullptr);
}

bool __atomic_futex_unsigned_base::_M_futex_wait_until_steady(unsigned *word, unsigned value, bool bounded,
                                                              chrono::seconds seconds, chrono::nanoseconds rest) {
  return _M_futex_wait_until(word, value, bounded, seconds, rest);
}

void __atomic_futex_unsigned_base::_M_futex_notify_all(unsigned *) {
  pthread_mutex_lock(&changing);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&changing);
}

}  // namespace std
